"""Names of classes: texts, known or not, as pandas reads them."""

from io import StringIO

import pandas as pd
import pytest

from mlebench.cell_formats.class_names import check_class_names, warn_of_unknown
from mlebench.cells import Column, Context
from mlebench.tables import read_csv


def kinds(cells, **options):
    values = read_csv(StringIO("\n".join(["id,label", *(f"{row},{cell}" for row, cell in enumerate(cells))])))["label"]
    context = Context(Column("label", "class-name", options=options), values, values, values)
    return {fault.kind: fault.rows.tolist() for fault in check_class_names(values, context)}


@pytest.mark.parametrize("cells", [["a", "b"], ["a", "1"], ["True", "a"], ["1", "2", "three"]])
def test_texts_are_fine(cells):
    assert kinds(cells) == {}


@pytest.mark.parametrize("cells", [["1", "2"], ["1.5", "inf"], ["True", "False"]])
def test_numbers_and_booleans_throughout_are_not(cells):
    assert kinds(cells) == {"not a text": [True, True]}


def test_gaps_are_refused_unless_they_may_be():
    assert kinds(["a", ""]) == {"missing value": [False, True]}
    assert kinds(["", ""]) == {"missing value": [True, True]}
    assert kinds(["a", ""], empty=True) == {}
    assert kinds(["", ""], empty=True) == {}
    assert kinds(["1", ""], empty=True) == {"not a text": [True, False]}
    assert kinds(["True", ""], empty=True) == {"not a text": [True, False]}


def test_unknown_classes_are_warned_of():
    values = pd.Series(["a", "B", None], name="label")
    (problem,) = warn_of_unknown(values, {"a", "b"}, "train.csv")
    assert problem.only_warns
    assert problem.rows == (2, 3)
    assert "none of the 2 classes in train.csv" in problem.message
    assert list(warn_of_unknown(values[:1], {"a", "b"}, "train.csv")) == []
