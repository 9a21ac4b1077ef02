"""Ranked numbers of classes, the first of which counts: "71 8 339"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault, as_text


def check_class_numbers(values: pd.Series, context: Context) -> Iterator[Fault]:
    """A whole number within the column's bounds, or several texts parted by blanks, the first of them such a number.

    A column of one number in each cell must not be written with points.
    """
    column = context.column
    expected = "the number of a class, or several parted by blanks, the best first"
    missing = values.isna().to_numpy()
    if missing.any():
        yield Fault("missing value", "is missing", missing, expected)
    numbers = _parsed(values)
    wrong = np.isnan(numbers) & ~missing
    if wrong.any():
        yield Fault("not a class number", "does not begin with a whole number", wrong, expected)
    bounds = [
        -np.inf if column.minimum is None else column.minimum,
        np.inf if column.maximum is None else column.maximum,
    ]
    outside = (numbers < bounds[0]) | (numbers > bounds[1])
    if outside.any():
        yield Fault("out of range", "is out of range", outside, f"a class from {bounds[0]:g} to {bounds[1]:g}")


def first_numbers(values: pd.Series) -> np.ndarray:
    """The first number of each cell, int64, shape (rows,); the cells are valid."""
    return _parsed(values).astype(np.int64)


def _parsed(values: pd.Series) -> np.ndarray:
    """The first number of each cell, NaN where it does not begin with a whole one; longer ones lose digits."""
    if pd.api.types.is_integer_dtype(values):
        return values.to_numpy(dtype=float)
    if pd.api.types.is_numeric_dtype(values):  # real numbers and booleans
        return np.full(len(values), np.nan)
    words = as_text(values).str.extract(r"^\s*([+-]?[0-9]+)(?:\s|$)")[0]
    # Releases of pandas differ in what `to_numeric` makes of hundreds of digits.
    return np.array([float(word) if isinstance(word, str) else np.nan for word in words], dtype=float)
