"""Lists of ids: what they take and what they refuse."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench import cells
from mlebench.cell_formats import id_list
from mlebench.submission import Column


def faulty_rows(values, digits=10):
    values = pd.Series(values)
    ids = pd.Series([f"row{i}" for i in range(len(values))], name="id")
    context = cells.Context(Column("list", "id-list", options={"digits": digits}), ids, ids, values)
    return [int(row) for fault in cells.find("id-list")(values, context) for row in np.flatnonzero(fault.rows)]


@pytest.mark.parametrize(
    "values",
    [
        ["706016001 0706016002", "1", None],
        [" 1  2 ", ""],  # blanks without an id between them cost a rank and are no fault
        [706016001, 706016002],
        [706016001.0, np.nan],
        [np.nan, np.nan],
    ],
)
def test_lists_of_ids_are_taken(values):
    assert faulty_rows(values) == []


@pytest.mark.parametrize(
    "bad",
    ["706016001,706016002", "706016001706016002", "shirt", "-5", "1.5", "1e5", "²", "٣", "1\t2", "1\n2", "[1 2]", "\n"],
)
def test_anything_else_is_refused_where_it_stands(bad):
    assert faulty_rows(["706016001", bad, None, "1 2"]) == [1]


@pytest.mark.parametrize("values", [[1, -5], [1.0, 1.5], [1.0, np.inf], [1, 10**10], [True, False]])
def test_numbers_that_are_no_ids_are_refused(values):
    assert 1 in faulty_rows(values)


def test_a_block_is_searched_without_losing_its_place(monkeypatch):
    monkeypatch.setattr(id_list, "_BLOCK", 3)
    assert faulty_rows(["1"] * 7 + ["x"] + ["2"] * 4) == [7]


@given(st.lists(st.text(st.sampled_from("0123 ,\n٣x"), max_size=8), min_size=1, max_size=6), st.integers(1, 4))
def test_looking_at_all_bytes_together_finds_the_same(texts, digits):
    pattern = re.compile(rf"(?:[0-9]{{1,{digits}}}(?![0-9])| )*")
    assert faulty_rows(texts, digits) == [row for row, text in enumerate(texts) if not pattern.fullmatch(text)]
