"""Sequences of whole numbers parted by blanks, "2 4 5 6 1"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault, as_text


def check_whole_numbers(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Whole numbers as Python reads them, parted by any amount of blanks, within the column's bounds.

    A cell must not be missing, unless `options.empty` is true; one of nothing but blanks holds no number.
    """
    column = context.column
    low = -np.inf if column.minimum is None else column.minimum
    high = np.inf if column.maximum is None else column.maximum
    bounds = "" if low == -np.inf and high == np.inf else f" from {low:g} to {high:g}"
    expected = f"whole numbers{bounds}, parted by blanks"
    texts = as_text(values).tolist()
    cells = [read_whole_numbers(text) for text in texts]
    may_be_empty = column.options.get("empty", False)
    faults = {
        ("missing value", "is empty"): [text == "" and not may_be_empty for text in texts],
        ("not whole numbers", "holds something that is no whole number"): [cell is None for cell in cells],
        ("out of range", "holds a number out of range"): [
            any(not low <= number <= high for number in cell or ()) for cell in cells
        ],
    }
    for (kind, message), rows in faults.items():
        if any(rows):
            yield Fault(kind, message, np.array(rows), expected)


def read_whole_numbers(text: str) -> list[int] | None:
    """The numbers of a cell; None if something else stands there.

    >>> read_whole_numbers("2  07 -1"), read_whole_numbers("1.0"), read_whole_numbers("")
    ([2, 7, -1], None, [])
    """
    try:
        return [int(piece) for piece in text.split()]
    except ValueError:
        return None
