"""Mean average precision at 12 over the customers who bought something; the submission may hold more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import InvalidSubmission
from mlebench.metrics.ranking import mean_average_precision_at_k_score
from mlebench.submission import Problem
from mlebench.tables import read_csv


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over the rows of `answers`; InvalidSubmission if one of its customers is missing."""
    predictions = _paired(submission, answers)
    return mean_average_precision_at_k_score(answers["prediction"].to_numpy(), predictions, k=12)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same with ids of ten digits on both sides, whether leading zeros were written or not."""
    predictions = _ten_digits(_paired(submission, answers))
    return mean_average_precision_at_k_score(answers["prediction"].to_numpy(), predictions, k=12)


def read_answers_v2(path: Path) -> pd.DataFrame:
    """Baskets as text: a single article is no number."""
    return read_csv(path, dtype=str)


def _ten_digits(cells: np.ndarray) -> np.ndarray:
    """Lists of ids with leading zeros; a single id may be a number, a missing cell is an empty list."""
    filled = np.empty(len(cells), dtype=object)
    filled[:] = [
        " ".join(word.zfill(10) for word in cell.split()) if isinstance(cell, str) else _as_id(cell) for cell in cells
    ]
    return filled


def _as_id(number: float) -> str:
    return "" if np.isnan(number) else f"{int(number):010d}"


def _paired(submission: pd.DataFrame, answers: pd.DataFrame) -> np.ndarray:
    """The predictions for the customers in `answers`. Raises InvalidSubmission if one is missing."""
    place = pd.Index(answers["customer_id"]).get_indexer(pd.Index(submission["customer_id"]))
    scored = np.flatnonzero(place >= 0)
    if len(scored) < len(answers):
        lost = len(answers) - len(scored)
        raise InvalidSubmission(
            [
                Problem(
                    "missing id",
                    f"{lost:,} of the {len(answers):,} customers who are scored are missing",
                    "a row for each customer of the sample submission",
                    count=lost,
                )
            ]
        )
    predictions = np.empty(len(answers), dtype=object)
    predictions[place[scored]] = submission["prediction"].iloc[scored].to_numpy()
    return predictions
