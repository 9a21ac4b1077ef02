"""The original training part and the original test, whose labels were published later for about two fifths of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import read_csv, require_unique, unpack, write_csv

LABELS = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but comments such as `null` are kept."""
    _prepare(raw, public, private, keep_default_na=False)


def _prepare(raw: Path, public: Path, private: Path, **reading: Any) -> None:
    train, test = (_read(raw, name, **reading) for name in ("train", "test"))
    answers, sample = _read(raw, "test_labels"), _read(raw, "sample_submission")
    _require_fit(train, test, answers, sample)

    write_csv(train, public / "train.csv")
    write_csv(test, public / "test.csv")
    write_csv(sample.assign(**dict.fromkeys(LABELS, 0.5)), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")


def _read(raw: Path, name: str, **reading: Any) -> pd.DataFrame:
    return read_csv(unpack(raw, f"{name}.csv.zip") / f"{name}.csv", dtype={"id": str}, **reading)


def _require_fit(train: pd.DataFrame, test: pd.DataFrame, answers: pd.DataFrame, sample: pd.DataFrame) -> None:
    """Raise PreparationError unless test, labels and sample submission have the same ids, and training others."""
    for table in (test, answers, sample):
        require_unique(table["id"])
    for name, table in (("test_labels.csv", answers), ("sample_submission.csv", sample)):
        if set(table["id"]) != set(test["id"]):
            raise PreparationError(f"{name} has other ids than test.csv")
    both = train["id"].isin(test["id"])
    if both.any():
        raise PreparationError(f"{int(both.sum()):,} ids of train.csv stand in test.csv as well")
