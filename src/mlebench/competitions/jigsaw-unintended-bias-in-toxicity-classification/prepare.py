"""The original training part and the original private test, whose labels were published later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, read_csv, require_unique, write_csv

COLUMNS = 45  # of the tables with all labels and facts


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but test comments such as `null` are kept."""
    _prepare(raw, public, private, keep_default_na=False)


def _prepare(raw: Path, public: Path, private: Path, **reading: Any) -> None:
    labelled_test = raw / "test_private_expanded.csv"
    columns = len(read_csv(labelled_test, nrows=0).columns)
    if columns != COLUMNS:
        raise PreparationError(f"{labelled_test.name} has {columns} columns instead of {COLUMNS}")
    test = read_csv(labelled_test, usecols=["id", "comment_text"], **reading)
    require_unique(test["id"])

    link_files([(raw / "train.csv", public / "train.csv"), (labelled_test, private / "test.csv")])
    write_csv(test[["id", "comment_text"]], public / "test.csv")
    write_csv(test[["id"]].assign(prediction=0.0), public / "sample_submission.csv")
