"""Every way in which groups of a word and numbers can be wrong is named, with its rows and values."""

import numpy as np
import pytest

from mlebench.cell_formats.labelled_boxes import read_groups
from mlebench.submission import Column, Schema, validate

FIELDS = {"fields": ["class", "confidence", "x", "width"], "word": "class"}
STRICT = {**FIELDS, "classes": ["car", "bus"], "positive": ["width"], "missing": False}


def validation(tmp_path, cells, **options):
    sample, submission = tmp_path / "sample.csv", tmp_path / "submission.csv"
    ids = [f"a{i}" for i in range(len(cells))]
    sample.write_text("id,boxes\n" + "".join(f"{name},car 1 2 3\n" for name in ids))
    lines = [f'{name},"{cell}"\n' if cell else f"{name},\n" for name, cell in zip(ids, cells, strict=True)]
    submission.write_text("id,boxes\n" + "".join(lines), encoding="utf-8")
    return validate(submission, Schema(id="id", columns=(Column("boxes", "labelled-boxes", options=options),)), sample)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("car 1 2", "count"),
        ("7", "count"),
        ("car 1 2 3 bus", "count"),
        ("car 1  2 3", "blanks"),
        (" car 1 2 3", "blanks"),
        ("car 1 2 3 ", "blanks"),
        (" ", "blanks"),
        ("car 1 2 x", "not a number"),
        ("car 1 bus 3", "not a number"),
        ("car 1 2 0x3", "not a number"),
        ("car nan 2 3", "not finite"),
        ("car 1 2 3 bus 1 inf 3", "not finite"),
        ("car 1 2 0", "out of range"),
        ("car 1 2 -1", "out of range"),
        ("tram 1 2 3", "unknown class"),
        ("Car 1 2 3", "unknown class"),
        ("", "missing value"),
    ],
)
def test_a_fault_is_named(tmp_path, cell, kind):
    found = validation(tmp_path, ["car 1 2 3", cell, "bus 0.5 -2 1e3 car 1 1 1", cell], **STRICT)
    (problem,) = found.problems
    assert problem.kind == kind
    assert problem.rows == (2, 4)


def test_all_faults_are_named_at_once(tmp_path):
    cells = ["car 1", "car  1 2 3", "car 1 x 3", "tram 1 2 3", "car inf 2 3", "car 1 2 0", "car 1 2 3"]
    found = {problem.rows[0]: problem.kind for problem in validation(tmp_path, cells, **STRICT).problems}
    assert list(found) == [2, 1, 3, 4, 5, 6]


def test_what_may_be_allowed(tmp_path):
    assert validation(tmp_path, ["", "car 1 2 -3"], **FIELDS).valid
    assert validation(tmp_path, ["\tcar  1\n2 3 ", " "], **FIELDS, any_blanks=True).valid
    assert validation(tmp_path, ["car nan inf 3"], **FIELDS, finite=False).valid
    lenient = {**STRICT, "unknown_classes": True}
    assert validation(tmp_path, ["tram nan inf -3 car 1 2 3"], **lenient).valid
    assert not validation(tmp_path, ["tram nan inf -3 car 1 nan 3"], **lenient).valid


def test_groups_are_read_with_their_texts():
    groups = read_groups(["1 2 car", "", "3 4 bus 5 nan car"], 3, 2)
    assert groups.texts.tolist() == [0, 2, 2]
    assert groups.words.tolist() == ["car", "bus", "car"]
    np.testing.assert_array_equal(groups.numbers, [[1, 2], [3, 4], [5, np.nan]])
    assert read_groups([], 3, 0).numbers.shape == (0, 2)
    assert read_groups(["", ""], 3, 0).texts.shape == (0,)
    with pytest.raises(ValueError, match="text 1"):
        read_groups(["1 2 car", "1 2"], 3, 2)
