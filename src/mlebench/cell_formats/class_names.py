"""Cells that hold the name of a class."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault
from mlebench.submission import Problem, row_problem


def check_class_names(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Any text, the classes or not; a column of numbers or booleans throughout is none.

    Empty cells are refused unless `options.empty` is true; then a column of nothing else is fine, too.
    """
    expected = "the name of a class"
    missing = values.isna().to_numpy()
    if missing.any() and not context.column.options.get("empty", False):
        yield Fault("missing value", "is missing", missing, expected)
    is_text = np.fromiter((isinstance(cell, str) for cell in values), dtype=bool, count=len(values))
    other = ~is_text & ~missing
    if other.any():
        yield Fault("not a text", "is a number or a boolean throughout, not a text", other, expected)


def warn_of_unknown(values: pd.Series, classes: Collection[object], source: str) -> Iterator[Problem]:
    """A warning of values that are none of the `classes`, which `source` names; empty cells are among them."""
    unknown = ~values.isin(list(classes))
    if unknown.any():
        message = f"{values.name} is none of the {len(classes):,} classes in {source} and counts as wrong"
        yield row_problem("unknown class", message, unknown, values, only_warns=True)
