"""The original training part and the original test, whose solutions were published later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    test = read_csv(raw / "test_with_solutions.csv")[["Insult", "Date", "Comment"]]
    both = read_csv(raw / "train.csv")["Comment"].isin(test["Comment"])
    if both.any():
        raise PreparationError(f"train.csv: {int(both.sum()):,} comments stand in test_with_solutions.csv as well")

    link_files([(raw / "train.csv", public / "train.csv")])
    write_csv(test.drop(columns="Insult"), public / "test.csv")
    write_csv(test.assign(Insult=0), public / "sample_submission_null.csv")
    link_files([(raw / "test_with_solutions.csv", private / "test.csv")])
    write_csv(test, private / "gold_submission.csv")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same with an id for each test comment, and without training comments that are nearly a test comment."""
    train, test = read_csv(raw / "train.csv"), read_csv(raw / "test_with_solutions.csv")
    test.insert(0, "id", np.arange(len(test)))
    near = _letters(train["Comment"]).isin(_letters(test["Comment"]))

    write_csv(train[~near], public / "train.csv")
    write_csv(test[["id", "Date", "Comment"]], public / "test.csv")
    write_csv(test[["id"]].assign(Insult=0), public / "sample_submission_null.csv")
    write_csv(test, private / "test.csv")
    write_csv(test[["id", "Insult", "Date", "Comment"]], private / "gold_submission.csv")


def _letters(comments: pd.Series) -> pd.Series:
    """Only letters and digits, in lower case; escaped characters such as \\n and \\xa0 go."""
    plain = comments.str.lower().str.replace(r"\\+(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[nrt])", " ", regex=True)
    return plain.str.replace(r"[\W_]+", "", regex=True)
