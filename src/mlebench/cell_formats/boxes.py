"""Boxes: groups of numbers separated by single blanks, "class confidence x_min y_min x_max y_max" by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from mlebench.cells import Context, Fault

FIELDS = ("class", "confidence", "x_min", "y_min", "x_max", "y_max")


def check_boxes(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Finite numbers in groups of `options.fields`, separated by single blanks; at least one group in a cell."""
    fields = context.column.options.get("fields", FIELDS)
    expected = f'groups of {len(fields)} numbers "{" ".join(fields)}" separated by single blanks'
    missing = values.isna().to_numpy(dtype=bool)
    if missing.any():
        yield Fault("missing value", "is missing", missing, expected)
    readable = ~missing
    for kind, message, wrong in _unreadable(values, missing):
        readable &= ~wrong
        yield Fault(kind, message, wrong, expected)
    rows = np.flatnonzero(readable)
    numbers, counts = read_numbers(values.iloc[rows].to_list())
    infinite = np.bincount(np.repeat(rows, counts), ~np.isfinite(numbers), minlength=len(values)) > 0
    if infinite.any():
        yield Fault("not finite", "holds NaN or an infinite number", infinite, expected)
    incomplete = np.zeros(len(values), dtype=bool)
    incomplete[rows] = counts % len(fields) != 0
    if incomplete.any():
        first = int(counts[counts % len(fields) != 0][0])
        yield Fault("count", f"has {first} numbers in the first such row", incomplete, expected)


def read_numbers(texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """All numbers of texts of numbers separated by single blanks, and how many each text has.

    Raises ValueError if something else is in a text, which also holds for the empty text.

    >>> read_numbers(["14 1 0 0 1 1", "2.5"])
    (array([14. ,  1. ,  0. ,  0. ,  1. ,  1. ,  2.5]), array([6, 1]))
    """
    if len(texts) == 0:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    counts = np.fromiter((text.count(" ") for text in texts), dtype=np.int64, count=len(texts)) + 1
    return np.fromiter(map(float, " ".join(texts).split(" ")), dtype=np.float64, count=int(counts.sum())), counts


def _unreadable(values: pd.Series, missing: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """What keeps `read_numbers` from reading the cells: kind, message, rows."""
    try:
        read_numbers(values[~missing].to_list())
    except ValueError:
        texts = values.where(~missing, "0").to_list()
        blanks = np.array(["" in text.split(" ") for text in texts])
        words = np.array([not _are_numbers(text) for text in texts]) & ~blanks
        if blanks.any():
            yield "blanks", "has doubled, leading or trailing blanks", blanks
        if words.any():
            yield "not a number", "holds something that is not a number", words


def _are_numbers(text: str) -> bool:
    try:
        read_numbers([text])
    except ValueError:
        return False
    return True
