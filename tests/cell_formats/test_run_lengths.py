"""Every way in which a run-length mask can be wrong is named, with its rows and values."""

import numpy as np
import pandas as pd
import pytest

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.submission import Column, Schema, validate

SCHEMA = Schema(id="id", columns=(Column("mask", "run-lengths", options={"pixels": 100}),))


def validation(tmp_path, cells, schema=SCHEMA):
    ids = [f"a{i}" for i in range(len(cells))]
    sample, submission = tmp_path / "sample.csv", tmp_path / "submission.csv"
    sample.write_text("id,mask\n" + "".join(f"{name},1 1\n" for name in ids))
    lines = [f'{name},"{cell}"\n' if cell else f"{name},\n" for name, cell in zip(ids, cells, strict=True)]
    submission.write_text("id,mask\n" + "".join(lines), encoding="utf-8")
    return validate(submission, schema, sample)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("7", "odd count"),
        ("1 3 10", "odd count"),
        ("1 2 3 4 5", "odd count"),
        ("5 1 2 1", "not ascending"),
        ("1 5 3 1", "overlap"),
        ("0 5", "below 1"),
        ("3 0", "below 1"),
        ("3 -2", "below 1"),
        ("1 101", "past the end"),
        ("101 1", "past the end"),
        ("1 99999999999999999999", "past the end"),
        ("1.5 3", "not whole numbers"),
        ("1e1 3", "not whole numbers"),
        ("none at all", "not whole numbers"),
        ("True", "not whole numbers"),
    ],
)
def test_a_fault_is_named(tmp_path, cell, kind):
    found = validation(tmp_path, ["1 100", cell, "", cell])
    (problem,) = found.problems
    assert problem.kind == kind
    assert problem.rows == (2, 4)
    assert problem.values == (repr(cell), repr(cell))


def test_all_faults_are_named_at_once(tmp_path):
    found = validation(tmp_path, ["x", "7", "0 1", "5 1 2 1", "1 200", "1 5 3 1", "1 1"])
    assert {problem.rows[0]: problem.kind for problem in found.problems} == {
        1: "not whole numbers",
        2: "odd count",
        3: "below 1",
        4: "not ascending",
        5: "past the end",
        6: "overlap",
    }


def test_a_run_may_begin_right_after_the_one_before_and_end_at_the_last_pixel(tmp_path):
    assert validation(tmp_path, ["1 2 3 4", "100 1", "1 100", ""]).valid


def test_a_column_of_nothing_is_valid(tmp_path):
    assert validation(tmp_path, ["", "", ""]).valid


def test_a_column_of_bare_numbers_is_refused(tmp_path):
    found = validation(tmp_path, ["1", "7", ""])
    assert [(problem.kind, problem.rows) for problem in found.problems] == [("odd count", (1, 2))]


def test_without_a_number_of_pixels_masks_have_no_end(tmp_path):
    schema = Schema(id="id", columns=(Column("mask", "run-lengths"),))
    assert validation(tmp_path, ["1 1000000"], schema).valid


def format_of(**options):
    return Schema(id="id", columns=(Column("mask", "run-lengths", options=options),))


def test_a_word_may_stand_for_the_empty_mask(tmp_path):
    schema = format_of(empty_code="-")
    assert validation(tmp_path, ["-", "1 3"], schema).valid
    found = validation(tmp_path, ["-", "", " ", " - ", "--"], schema)
    kinds = {problem.kind: problem.rows for problem in found.problems}
    assert kinds == {"missing value": (2,), "blanks": (3,), "not whole numbers": (4, 5)}
    assert validation(tmp_path, ["-", "", " "], format_of(empty_code="-", missing=True)).valid


def test_missing_cells_may_be_refused_where_blank_ones_are_not(tmp_path):
    found = validation(tmp_path, [" ", "", "1 3"], format_of(missing=False))
    assert [(problem.kind, problem.rows) for problem in found.problems] == [("missing value", (2,))]


def test_pictures_of_their_own_sizes():
    codes = pd.Series(["1 4", np.nan, "2 4", "9 1"], name="mask")
    (problem,) = faulty_masks(codes, np.array([4, 1, 4, 8]))
    assert (problem.kind, problem.rows, problem.values) == ("past the end", (3, 4), ("'2 4'", "'9 1'"))
    assert not list(faulty_masks(codes, np.array([4, 1, 5, 9])))
