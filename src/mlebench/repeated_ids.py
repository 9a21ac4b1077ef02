"""Submissions in which some ids stand several times, as often as in the sample submission."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.errors import Problem
from mlebench.submission import row_problem


def check_counts(ids: pd.Series, expected: pd.Series) -> Iterator[Problem]:
    """Problems of rows whose id stands there too often, and of ids that stand there less often than in `expected`."""
    wanted, found = expected.value_counts(), ids.value_counts()
    rule = f"each {ids.name} as often as in the sample submission"
    surplus = ids.groupby(ids).cumcount() >= ids.map(wanted)
    if surplus.any():
        yield row_problem("repeated id", f"{ids.name} stands there too often", surplus, ids, rule)
    lost = (wanted - found.reindex(wanted.index, fill_value=0)).clip(lower=0)
    if lost.any():
        shown = tuple(f"{text:.60}" for text in lost.index[lost > 0][:5])
        yield Problem("missing id", f"{lost.sum():,} rows are missing", rule, values=shown, count=int(lost.sum()))


def sorted_as_published(ids: pd.Series) -> np.ndarray:
    """The row numbers in the order of the ids, texts, in which the published benchmark pairs rows.

    NumPy's default sort is not stable: which of two rows with one id comes first is an accident of that sort.
    """
    return np.argsort(ids.to_numpy(dtype=object))
