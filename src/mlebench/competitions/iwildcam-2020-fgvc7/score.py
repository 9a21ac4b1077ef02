"""Accuracy of rows that are paired by their order: an image that has two annotations has two rows (edition v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.classification import accuracy_score
from mlebench.repeated_ids import check_counts, sorted_as_published
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each id has to stand there as often as in the sample submission, which is once if nothing is odd."""
    yield from check_counts(table["Id"], read_csv(public / "sample_submission.csv", dtype={"Id": str})["Id"])


def check_submission_v2(_table: pd.DataFrame, _public: Path) -> Iterable[Problem]:
    """The schema says it all: no id repeats."""
    return ()


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Both tables sorted by id and paired by position, as v1 does."""
    return accuracy_score(_in_order_of_ids(answers), _in_order_of_ids(submission))


def _in_order_of_ids(table: pd.DataFrame) -> np.ndarray:
    return table["Category"].to_numpy()[sorted_as_published(table["Id"])]
