"""Sequences of whole numbers parted by blanks, "2 4 5 6 1"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault, as_text


def check_whole_numbers(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Whole numbers as Python reads them, parted by any amount of blanks, within the column's bounds.

    At least one, unless `options.empty` is true.
    """
    column = context.column
    low = -np.inf if column.minimum is None else column.minimum
    high = np.inf if column.maximum is None else column.maximum
    bounds = "" if low == -np.inf and high == np.inf else f" from {low:g} to {high:g}"
    expected = f"whole numbers{bounds}, parted by blanks"
    cells = [read_whole_numbers(text) for text in as_text(values)]
    faults = {
        ("missing value", "is empty"): [cell == [] and not column.options.get("empty", False) for cell in cells],
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
