"""Sequences of whole numbers: what Python reads as numbers is valid, within bounds, and at least one."""

import pandas as pd
import pytest

from mlebench.cell_formats.whole_numbers import check_whole_numbers
from mlebench.cells import Column, Context


def kinds(cells, **facts):
    values = pd.Series(cells, dtype=object)
    ids = pd.Series(range(len(cells)), name="Id")
    context = Context(Column("Sequence", "whole-numbers", **facts), ids, ids, values)
    return {fault.kind: fault.rows.tolist() for fault in check_whole_numbers(values, context)}


def test_sequences_are_whole_numbers_parted_by_blanks():
    assert kinds(["2 4 5", "  7\t8 ", "007", "-1 0 999", "+3", "9" * 400, "1_0", "٣", "  "]) == {}


@pytest.mark.parametrize("cell", ["1,2", "1.0", "1 2.5", "ok", "1e3", "True", "1;2", "9" * 5000, "--1"])
def test_what_is_no_whole_number(cell):
    assert kinds(["1", cell]) == {"not whole numbers": [False, True]}


@pytest.mark.parametrize("cell", ["", None, float("nan")])
def test_empty_cells(cell):
    assert kinds(["1", cell]) == {"missing value": [False, True]}
    assert kinds(["1", cell], options={"empty": True}, minimum=1) == {}


def test_bounds():
    found = kinds(["1 20", "0", "5 21 5", "-4"], minimum=1, maximum=20)
    assert found == {"out of range": [False, True, True, True]}
