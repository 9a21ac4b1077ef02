"""Permutations: compared with the sample submission's cell of the same id."""

import numpy as np
import pandas as pd
import pytest

from mlebench import cells
from mlebench.submission import Column

SAMPLE = pd.DataFrame({"id": ["n1", "n2", "n3"], "cell_order": ["a b c", "00 01", "x y"]})


def faults(ids, orders):
    context = cells.Context(
        Column("cell_order", "permutation"), pd.Series(ids, name="id"), SAMPLE["id"], SAMPLE["cell_order"]
    )
    check = cells.find("permutation")
    return {fault.kind: [int(row) for row in np.flatnonzero(fault.rows)] for fault in check(pd.Series(orders), context)}


def test_any_order_of_rows_entries_and_blanks_is_taken():
    assert faults(["n3", "n1", "n2"], ["y x", "  c   a b ", "01 00"]) == {}


@pytest.mark.parametrize(
    ("order", "kinds"),
    [
        ("a b d", {"unknown entry", "missing entry"}),
        ("a b c d", {"unknown entry"}),
        ("a b b", {"repeated entry", "missing entry"}),
        ("a b c c", {"repeated entry"}),
        ("a b", {"missing entry"}),
        ("00 01", {"unknown entry", "missing entry"}),  # another row's
        ("", {"missing entry"}),
        (None, {"missing value"}),
    ],
)
def test_what_is_no_permutation_is_refused_where_it_stands(order, kinds):
    assert faults(["n2", "n1", "n3"], ["01 00", order, "x y"]) == {kind: [1] for kind in kinds}


def test_a_row_with_an_unknown_id_is_not_compared():
    assert faults(["n1", "stranger"], ["a b c", "q"]) == {}


def test_digits_stay_text():
    assert set(faults(["n2"], ["0 1"])) == {"unknown entry", "missing entry"}
    assert cells.FORMATS["permutation"].dtype is str
