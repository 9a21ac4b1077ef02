"""Ranked numbers of classes, as pandas reads them."""

from io import StringIO

import pytest

from mlebench.cell_formats.class_numbers import check_class_numbers, first_numbers
from mlebench.cells import Column, Context
from mlebench.tables import read_csv


def column(cells):
    return read_csv(StringIO("\n".join(["id,predicted", *(f"{row},{cell}" for row, cell in enumerate(cells))])))[
        "predicted"
    ]


def kinds(cells):
    values = column(cells)
    context = Context(Column("predicted", "class-numbers", minimum=0, maximum=1009), values, values, values)
    return {fault.kind: fault.rows.tolist() for fault in check_class_numbers(values, context)}


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["5", "1009"], [5, 1009]),
        (["5 1 2", "0"], [5, 0]),
        ([" 5\t1", "007  x"], [5, 7]),
        (["+5 1", "-0 y"], [5, 0]),
        ([" 5 ", "6"], [5, 6]),
    ],
)
def test_the_first_number_counts(cells, first):
    assert kinds(cells) == {}
    assert first_numbers(column(cells)).tolist() == first


@pytest.mark.parametrize("cell", ["3.0 1", '"3,1"', "x", "1_0 2", "5x", "  ", "1e2 3", "nan 1", "٣ 1"])
def test_other_words_are_refused(cell):
    assert kinds(["5 1", cell]) == {"not a class number": [False, True]}


@pytest.mark.parametrize("cells", [["5.0", "1.0"], ["True", "False"], ["x", "y"]])
def test_columns_of_other_things_are_refused(cells):
    assert kinds(cells) == {"not a class number": [True, True]}


@pytest.mark.parametrize("cell", ["1010", "-1 5", "9" * 19, "9" * 30 + " 1", "9" * 400 + " 1"])
def test_numbers_that_are_no_class_are_refused(cell):
    assert kinds(["5 1", cell]) == {"out of range": [False, True]}


def test_missing_cells_are_refused():
    assert kinds(["5 1", ""]) == {"missing value": [False, True]}
    assert kinds(["5", ""])["missing value"] == [False, True]
