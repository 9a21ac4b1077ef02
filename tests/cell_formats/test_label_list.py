"""Lists of labels: what they take and what they refuse."""

import numpy as np
import pandas as pd
import pytest

from mlebench import cells
from mlebench.submission import Column


def faults(values, **options):
    values = pd.Series(values)
    ids = pd.Series([f"row{i}" for i in range(len(values))], name="id")
    context = cells.Context(Column("tags", "label-list", options=options), ids, ids, values)
    found = cells.find("label-list")(values, context)
    return {fault.kind: np.flatnonzero(fault.rows).tolist() for fault in found}


@pytest.mark.parametrize(
    "values",
    [["a b", "c"], ["a  b ", None], [" ", "\t"], [1, 2], [1.5, np.nan], [True, None], [np.nan, np.nan], ["a,b"]],
)
def test_without_options_everything_is_taken(values):
    assert faults(values) == {}


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (["a", None, ""], {"empty": False}, {"missing value": [1, 2]}),
        (["nan", " "], {"empty": False}, {}),
        ([1, 2], {"numbers": False}, {"not a label": [0, 1]}),
        ([1.0, np.nan], {"numbers": False}, {"not a label": [0]}),
        ([True, None, "x"], {"numbers": False}, {"not a label": [0]}),
        (["1", "2"], {"numbers": False}, {}),  # texts that hold numbers are texts
        ([np.nan, np.nan], {"numbers": False}, {}),
        (["", " \t", None], {"all_empty": False}, {"no labels": [0, 1, 2]}),
        (["", "a"], {"all_empty": False}, {}),
        (["a b", "a,b", None], {"forbidden": ","}, {"not a label": [1]}),
        (["a 1.0 b", "1.0.1 v1.0", "1.", ".5"], {"forbidden": r"(?<!\S)\d*\.\d*(?!\S)"}, {"not a label": [0, 2, 3]}),
        (["a b", "a b c", "a a  a"], {"most": 2}, {"too many labels": [1, 2]}),
    ],
)
def test_options_name_what_is_refused(values, options, expected):
    assert faults(values, **options) == expected


def test_messages_say_what_is_expected():
    values = pd.Series(["a,b"], name="tags")
    column = Column("tags", "label-list", options={"forbidden": ",", "expected": "tags parted by blanks"})
    (fault,) = cells.find("label-list")(values, cells.Context(column, values, values, values))
    assert fault.expected == "tags parted by blanks"
