"""Hold out a random tenth of the questions.

In v2 it is a random tenth of the articles, with all their questions, and no text is taken for a missing one.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, read_csv, write_csv

TEXTS = ["id", "context", "question", "answer_text", "language"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(read_csv(raw / "train.csv"), 0.1)
    _write(train, test, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    questions = read_csv(raw / "train.csv", dtype=dict.fromkeys(TEXTS, str), keep_default_na=False)
    train, test = hold_out_groups(questions, "context", 0.1)
    _write(train, test, public, private)


def _write(train: pd.DataFrame, test: pd.DataFrame, public: Path, private: Path) -> None:
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns=["answer_start", "answer_text"]), public / "test.csv")
    write_csv(test[["id"]].assign(PredictionString="dummy text"), public / "sample_submission.csv")
    answers = test[["id", "answer_text"]].set_axis(["id", "PredictionString"], axis=1)
    write_csv(answers, private / "test.csv")
