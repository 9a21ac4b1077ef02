"""Tables read in parts and written by key, beside the whole table in memory."""

import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from mlebench.preparation import parts
from mlebench.preparation.inexact_floats import read_csv_inexactly, read_parts_inexactly
from mlebench.preparation.parts import TypesDiffer, append_csv, read_parts, write_by_key
from mlebench.preparation.shuffling import divided, read_in_order
from mlebench.tables import read_csv, write_csv

SAME = ["a,1,0.10,x", "b,2,,", 'a,3,1e5,"y,\nz"', "c,4,37.3102299743582932,NA", "b,5,2,007", "c,6,0.5,q"]
# Read in parts of two rows these would lose `007` or the point of `1.0`.
DIFFERENT = {
    "gap in integers": ["a,1,1.5,x", "b,2,2.5,y", "a,,1.5,x", "c,4,2.5,y", "b,5,1.5,x"],
    "number, then text": ["a,1,1.5,007", "b,2,2.5,8", "a,3,1.5,x", "c,4,2.5,y"],
    "text, then number": ["a,1,1.5,x", "b,2,2.5,y", "a,3,1.5,007", "c,4,2.5,8"],
    "integers, then floats": ["a,1,1,x", "b,2,2,y", "a,3,1.5,x", "c,4,2.5,y"],
    "empty part": ["a,1,,x", "b,2,2.5,y", "a,3,1.5,", "c,4,2.5,"],
    "truth, then text": ["a,1,1.5,TRUE", "b,2,2.5,False", "a,3,1.5,x", "c,4,2.5,y"],
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "ROWS", 2)


def file_of(lines, folder):
    path = folder / "table.csv"
    path.write_text("\n".join(["name,count,size,text", *lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("lines", [SAME, *DIFFERENT.values()], ids=["same", *DIFFERENT])
@pytest.mark.parametrize(("read", "read_whole"), [(read_parts, read_csv), (read_parts_inexactly, read_csv_inexactly)])
def test_rows_are_written_by_key(lines, read, read_whole, tmp_path):
    source = file_of(lines, tmp_path)
    sides = {tmp_path / "one.csv": ["a", "d"], tmp_path / "other.csv": pd.Series(["b"]), tmp_path / "no.csv": ["d"]}
    assert write_by_key("name", sides, read(source), lambda: read_whole(source)) == 2
    for path, names in sides.items():
        table = read_whole(source)
        write_csv(table[table["name"].isin(list(names))], tmp_path / "whole.csv")
        assert path.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("lines", DIFFERENT.values(), ids=DIFFERENT)
def test_parts_that_differ_in_type_are_noticed(lines, tmp_path):
    with pytest.raises(TypesDiffer):
        list(read_parts(file_of(lines, tmp_path)))


def test_parts_make_the_whole(tmp_path):
    source = file_of(SAME, tmp_path)
    pd.testing.assert_frame_equal(pd.concat(read_parts(source)), read_csv(source))
    pd.testing.assert_frame_equal(pd.concat(read_parts_inexactly(source)), read_csv_inexactly(source))
    texts = pd.concat(read_parts(io.BytesIO(source.read_bytes()), dtype=str, keep_default_na=False))
    assert texts["text"].tolist() == ["x", "", "y,\nz", "NA", "007", "q"]


@pytest.mark.parametrize("lines", [SAME, *DIFFERENT.values()], ids=["same", *DIFFERENT])
def test_rows_of_a_file_come_in_order(lines, tmp_path):
    source = file_of(lines, tmp_path)
    order = np.random.default_rng(1).permutation(len(lines))
    found = pd.concat(read_in_order(source, order, scratch=tmp_path))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), read_csv(source).iloc[order].reset_index(drop=True))


@pytest.mark.parametrize("rows", range(7))
def test_tables_are_cut_in_two(rows):
    table = pd.DataFrame({"number": range(6)})
    cut = list(divided((table.iloc[start:end] for start, end in pairwise([0, 2, 3, 6])), rows))
    first, others = (pd.concat(side)["number"].tolist() for side in zip(*cut, strict=True))
    assert (first, others) == (list(range(rows)), list(range(rows, 6)))


def test_a_file_is_begun_with_a_header(tmp_path):
    path = tmp_path / "new" / "table.csv"
    for start, end in ((0, 0), (0, 2), (2, 2), (2, 3)):
        append_csv(pd.DataFrame({"number": range(3)}).iloc[start:end], path)
    assert path.read_text() == "number\n0\n1\n2\n"
