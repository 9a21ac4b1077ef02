"""Rows have no id but the text of the comment, and some texts stand there several times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.classification import roc_auc_score
from mlebench.repeated_ids import check_counts, sorted_as_published
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each comment has to stand there as often as in the test."""
    test = read_csv(public / "test.csv", usecols=["Comment"], dtype=str)["Comment"]
    yield from check_counts(table["Comment"], test)


def check_submission_v2(_table: pd.DataFrame, _public: Path) -> Iterable[Problem]:
    """The schema says it all: there are ids."""
    return ()


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Area under the ROC curve; both tables sorted by the comment and paired by position, as v1 does."""
    return roc_auc_score(_in_order_of_comments(answers), _in_order_of_comments(submission))


def _in_order_of_comments(table: pd.DataFrame) -> np.ndarray:
    return table["Insult"].to_numpy()[sorted_as_published(table["Comment"])]
