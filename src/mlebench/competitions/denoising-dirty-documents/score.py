"""Root mean squared error; millions of rows are put in order only if they are not."""

from __future__ import annotations

import pandas as pd

from mlebench.metrics.regression import root_mean_squared_error


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The library's metric; rows are paired by id."""
    if not submission["id"].equals(answers["id"]):
        submission = submission.set_index("id").loc[answers["id"]]
    return root_mean_squared_error(answers["value"], submission["value"])
