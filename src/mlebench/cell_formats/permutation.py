"""Permutations: the entries of the sample submission's cell with the same id, in any order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault, as_text


def check_permutation(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Each entry of the sample submission's cell of the row's id exactly once, parted by any amount of blanks.

    Rows whose id the sample submission does not have are left alone: there is nothing to compare them with.
    """
    expected = f"each entry of the sample submission's {context.column.name} of that {context.ids.name} once"
    missing = values.isna().to_numpy()
    if missing.any():
        yield Fault("missing value", "is missing", missing, expected)
    place = pd.Index(context.sample_ids).get_indexer(pd.Index(context.ids))
    rows = np.flatnonzero(~missing & (place >= 0))
    found = [text.split() for text in as_text(values.iloc[rows])]
    wanted = [text.split() for text in as_text(context.sample_values.iloc[place[rows]])]
    other = [index for index in range(len(rows)) if sorted(found[index]) != sorted(wanted[index])]
    faults = {
        ("unknown entry", "holds an entry that is not there"): lambda f, w: bool(set(f) - set(w)),
        ("repeated entry", "holds an entry twice"): lambda f, _: len(set(f)) < len(f),
        ("missing entry", "lacks an entry"): lambda f, w: bool(set(w) - set(f)),
    }
    for (kind, message), is_faulty in faults.items():
        wrong = np.zeros(len(values), dtype=bool)
        wrong[rows[[index for index in other if is_faulty(found[index], wanted[index])]]] = True
        if wrong.any():
            yield Fault(kind, message, wrong, expected)
