"""The share of pictures whose first guess is wrong."""

from __future__ import annotations

import pandas as pd

from mlebench.cell_formats.class_numbers import first_numbers
from mlebench.metrics.classification import top_1_error


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Rows are paired by id; of several guesses the first one counts."""
    guesses = pd.Series(first_numbers(submission["predicted"]), index=submission["id"])
    return top_1_error(answers["predicted"].to_numpy(), guesses.loc[answers["id"]].to_numpy())
