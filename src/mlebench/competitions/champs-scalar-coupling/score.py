"""The error of each type of coupling, on a logarithmic scale."""

from __future__ import annotations

import pandas as pd

from mlebench.metrics.regression import mean_log_absolute_error

TARGET = "scalar_coupling_constant"


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over the types of the logarithm of the mean absolute error; minus infinity if one type has none."""
    return _score(submission, answers, floor=0.0)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same, but the error of a type counts as at least 1e-9."""
    return _score(submission, answers, floor=1e-9)


def _score(submission: pd.DataFrame, answers: pd.DataFrame, floor: float) -> float:
    predicted = submission.set_index("id")[TARGET].loc[answers["id"]]
    types = answers["type"].to_numpy(dtype=object)
    return mean_log_absolute_error(answers[TARGET], predicted, groups=types, floor=floor)
