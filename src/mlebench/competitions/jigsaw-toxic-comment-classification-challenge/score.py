"""Rows and columns are paired by position, and not all rows are scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import InvalidSubmission
from mlebench.metrics.classification import mean_columnwise_roc_auc_score
from mlebench.submission import Problem
from mlebench.tables import read_csv

LABELS = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


def read_answers(path: Path) -> pd.DataFrame:
    """The scored rows: in the others all labels are -1."""
    answers = read_csv(path, dtype={"id": str})
    return answers[answers[LABELS].sum(axis=1) >= 0]


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """There have to be as many rows as in the test."""
    rows = len(read_csv(public / "sample_submission.csv", usecols=["id"], dtype=str))
    if len(table) != rows:
        yield Problem("row count", f"there are {len(table):,} rows", f"{rows:,} rows, one for each id of test.csv")


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean of the areas under the six ROC curves; scored rows sorted by id, then paired by position, as v1 does.

    `submission` has its columns in the order of the file, and they are paired by position, too. Raises
    InvalidSubmission if repeated ids make the number of scored rows another.
    """
    ordered = _in_order_of_ids(submission)
    scored = ordered[ordered["id"].isin(answers["id"])]
    if len(scored) != len(answers):
        message = f"ids repeat or are missing, so that {len(scored):,} rows are scored"
        raise InvalidSubmission([Problem("missing id", message, f"{len(answers):,} rows, each id once")])
    truth = _in_order_of_ids(answers)[LABELS]
    return mean_columnwise_roc_auc_score(truth.to_numpy(), scored.drop(columns="id").to_numpy())


def _in_order_of_ids(table: pd.DataFrame) -> pd.DataFrame:
    # NumPy's default sort is not stable: which of two rows with one id comes first is v1's accident. What is in
    # order already, pandas leaves as it is.
    if table["id"].is_monotonic_increasing:
        return table
    return table.iloc[np.argsort(table["id"].to_numpy(dtype=object))]
