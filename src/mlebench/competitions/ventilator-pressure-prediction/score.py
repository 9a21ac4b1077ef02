"""Mean absolute error of the steps at which the expiratory valve is closed; the others may hold anything but text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cells import as_numbers
from mlebench.metrics.regression import mean_absolute_error
from mlebench.submission import Problem, row_problem
from mlebench.tables import read_csv

EXPECTED = "a finite number"


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Steps of inspiration need a finite number each; those of expiration may be empty, which is warned of."""
    pressure = table["pressure"]
    values, missing = as_numbers(pressure), pressure.isna().to_numpy()
    text = np.isnan(values) & ~missing
    if text.any():
        yield row_problem("not a number", "pressure is not a number", text, pressure, EXPECTED)
    steps = read_csv(public / "test.csv", usecols=["id", "u_out"]).set_index("id")
    scored = steps["u_out"].loc[table["id"]].to_numpy() == 0
    if (scored & missing).any():
        message = "pressure is missing in a row with u_out = 0"
        yield row_problem("missing value", message, scored & missing, pressure, EXPECTED)
    infinite = scored & np.isinf(values)
    if infinite.any():
        yield row_problem("not finite", "pressure is infinite in a row with u_out = 0", infinite, pressure, EXPECTED)
    if (missing & ~scored).any():
        message = "pressure is missing in rows with u_out = 1, which are not scored"
        yield row_problem("missing value", message, missing & ~scored, only_warns=True)


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Rows are paired by id; those with u_out = 1 in the answers are left out. NaN if there are no others."""
    scored = answers[answers["u_out"] == 0]
    if scored.empty:
        return np.nan
    predicted = submission.set_index("id")["pressure"].loc[scored["id"]]
    return mean_absolute_error(scored["pressure"], as_numbers(predicted))
