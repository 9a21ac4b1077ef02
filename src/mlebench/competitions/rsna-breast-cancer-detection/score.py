"""What predictions must be for the library's metric to have a value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cells import as_numbers
from mlebench.submission import Problem, row_problem


def check_submission(table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """Predictions outside 0 to 1 are warned of, and not all may be negative: precision would be 0 / 0."""
    predictions = as_numbers(table["cancer"])
    outside = (predictions < 0) | (predictions > 1)
    if (predictions < 0).all():
        message = "cancer is negative in all rows, and so the score undefined"
        yield row_problem("undefined score", message, outside, table["cancer"], "probabilities")
    elif outside.any():
        message = "cancer is outside 0 to 1 and will be clipped"
        yield row_problem("clipped", message, outside, table["cancer"], "numbers from 0 to 1", only_warns=True)
