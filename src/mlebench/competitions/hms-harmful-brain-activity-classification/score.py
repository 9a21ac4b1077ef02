"""Kullback-Leibler divergence of rows that are paired by their order, as ids repeat (edition v1 alone)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.log_loss import kl_divergence_loss
from mlebench.submission import Problem, row_problem
from mlebench.tables import read_csv

VOTES = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
CLIP = 1e-15


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each id stands there as often as in the sample submission; another order is warned of."""
    ids, expected = table["eeg_id"], read_csv(public / "sample_submission.csv", usecols=["eeg_id"])["eeg_id"]
    counts = ids.value_counts()
    wrong = ids.isin(counts.index[counts != expected.value_counts().reindex(counts.index)]).to_numpy()
    if wrong.any():
        yield row_problem(
            "row count",
            "eeg_id stands in more or fewer rows than in the sample submission",
            wrong,
            ids,
            "as many rows for each eeg_id as in the sample submission",
        )
        return
    misplaced = ids.to_numpy() != expected.to_numpy()
    if misplaced.any():
        yield row_problem(
            "row order",
            "eeg_id stands in another place than in the sample submission: rows that share one are paired by order",
            misplaced,
            ids,
            only_warns=True,
        )


def check_submission_v2(_table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """The schema says it all."""
    yield from ()


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean divergence; rows are paired by place once both tables are sorted by id.

    Columns in which all numbers were whole in the file are not clipped, so a 0 in one may make it infinite.
    """
    votes = _sorted(answers)[VOTES].to_numpy(float)
    predicted = _sorted(submission)
    clipped = [
        column if pd.api.types.is_integer_dtype(column) else column.astype(float).clip(CLIP, 1 - CLIP)
        for column in (predicted[name] for name in VOTES)
    ]
    return kl_divergence_loss(votes / votes.sum(axis=1, keepdims=True), np.column_stack(clipped), clip=0)


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values("eeg_id", kind="stable")
