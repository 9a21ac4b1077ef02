"""Rows have no id but the text of the comment, and some texts stand there several times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.classification import roc_auc_score
from mlebench.submission import Problem, row_problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each comment has to stand there as often as in the test."""
    test = read_csv(public / "test.csv", usecols=["Comment"], dtype=str)["Comment"]
    wanted, found = test.value_counts(), table["Comment"].value_counts()
    expected = "each comment as often as in the sample submission"
    surplus = table.groupby("Comment").cumcount() >= table["Comment"].map(wanted)
    if surplus.any():
        yield row_problem("repeated id", "Comment stands there too often", surplus, table["Comment"], expected)
    lost = (wanted - found.reindex(wanted.index, fill_value=0)).clip(lower=0)
    if lost.any():
        shown = tuple(f"{text:.60}" for text in lost.index[lost > 0][:5])
        yield Problem("missing id", f"{lost.sum():,} rows are missing", expected, values=shown, count=int(lost.sum()))


def check_submission_v2(_table: pd.DataFrame, _public: Path) -> Iterable[Problem]:
    """The schema says it all: there are ids."""
    return ()


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Area under the ROC curve; both tables sorted by the comment and paired by position, as v1 does."""
    return roc_auc_score(_in_order_of_comments(answers), _in_order_of_comments(submission))


def _in_order_of_comments(table: pd.DataFrame) -> np.ndarray:
    # NumPy's default sort is not stable: which of two equal comments comes first is v1's accident.
    return table["Insult"].to_numpy()[np.argsort(table["Comment"].to_numpy(dtype=object))]
