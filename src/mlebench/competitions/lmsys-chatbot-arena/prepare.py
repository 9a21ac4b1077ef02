"""Hold out a random tenth of the battles."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, read_csv, require_unique, write_csv

OUTCOMES = ["winner_model_a", "winner_model_b", "winner_tie"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_read_battles(raw), 0.1)
    _write(train, test, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out a random tenth of the prompts with all their battles."""
    train, test = hold_out_groups(_read_battles(raw), "prompt", 0.1)
    _write(train, test, public, private)


def _read_battles(raw: Path) -> pd.DataFrame:
    battles = read_csv(raw / "train.csv")
    require_unique(battles["id"])
    return battles


def _write(train: pd.DataFrame, test: pd.DataFrame, public: Path, private: Path) -> None:
    write_csv(train, public / "train.csv")
    write_csv(test[["id", "prompt", "response_a", "response_b"]], public / "test.csv")
    thirds = dict.fromkeys(OUTCOMES, 0.3333333333333333)
    write_csv(test[["id"]].assign(**thirds), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
