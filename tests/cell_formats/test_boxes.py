"""Every way in which a cell of boxes can be wrong is named, with its rows and values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.cell_formats.boxes import read_numbers
from mlebench.submission import Column, Schema, validate

SCHEMA = Schema(id="id", columns=(Column("boxes", "boxes"),), ids_may_repeat=True)
GOOD = "14 1 0 0 1 1"


def validation(tmp_path, cells, schema=SCHEMA):
    sample, submission = tmp_path / "sample.csv", tmp_path / "submission.csv"
    sample.write_text(f"id,boxes\na,{GOOD}\n")
    submission.write_text("id,boxes\n" + "".join(f'a,"{cell}"\n' if cell else "a,\n" for cell in cells))
    return validate(submission, schema, sample)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("14 1 0 0 1", "count"),
        (f"{GOOD} 3", "count"),
        ("5", "count"),
        ("14 1 0  0 1 1", "blanks"),
        (f"{GOOD} ", "blanks"),
        (f" {GOOD}", "blanks"),
        ("none", "not a number"),
        ("14 1 0 0 1 1px", "not a number"),
        ("14\t1 0 0 1 1 1", "not a number"),
        ("14,1,0,0,1,1", "not a number"),
        ("14 nan 0 0 1 1", "not finite"),
        ("14 1 0 0 inf 1", "not finite"),
        ("14 -1e400 0 0 1 1", "not finite"),
        ("nan 1 0 0 1 1", "not finite"),
    ],
)
def test_a_fault_is_named(tmp_path, cell, kind):
    found = validation(tmp_path, [GOOD, cell, GOOD, cell])
    (problem,) = found.problems
    assert problem.kind == kind
    assert problem.rows == (2, 4)
    assert problem.values == (repr(cell), repr(cell))


def test_all_faults_are_named_at_once(tmp_path):
    found = validation(tmp_path, ["", "1  2", "x", "1 nan 1 1 1 1", "5", GOOD])
    assert {problem.rows[0]: problem.kind for problem in found.problems} == {
        1: "missing value",
        2: "blanks",
        3: "not a number",
        4: "not finite",
        5: "count",
    }


@pytest.mark.parametrize("cell", ["-3 -0.5 5 5 1 1", "8.9 1e-3 0 0 1 1", "17 2 9 9 1 1", f"{GOOD} {GOOD}"])
def test_any_class_confidence_and_corners_are_fine(tmp_path, cell):
    assert validation(tmp_path, [cell, GOOD]).valid


def test_columns_may_name_other_fields(tmp_path):
    options = {"fields": ["confidence", "x", "y"]}
    schema = Schema(id="id", columns=(Column("boxes", "boxes", options=options),), ids_may_repeat=True)
    assert validation(tmp_path, ["1 2 3", "1 2 3 4 5 6"], schema).valid
    (problem,) = validation(tmp_path, [GOOD, "1 2"], schema).problems
    assert "confidence x y" in problem.expected


@given(st.lists(st.lists(st.floats(), min_size=1, max_size=7), max_size=5))
def test_numbers_are_those_of_float(rows):
    numbers, counts = read_numbers([" ".join(map(repr, row)) for row in rows])
    assert list(map(repr, numbers.tolist())) == [repr(number) for row in rows for number in row]
    assert counts.tolist() == [len(row) for row in rows]
