"""Dividing a big table line by line writes the bytes that pandas writes."""

import io

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mlebench.errors import PreparationError
from mlebench.preparation import big_tables
from mlebench.preparation.big_tables import _divide, _NotPlain, hold_out_lines
from mlebench.preparation.files import hold_out, read_csv

KINDS = {"key": "text", "fare": "float", "place": "float", "count": "integer"}

TEXTS = st.builds("{:04d}-06-15 17:26:21.{:07d}".format, st.integers(0, 9999), st.integers(0, 9_999_999))
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-180, 180).map(lambda value: f"{value:.6f}"),
    st.floats(-180, 180, width=32).map(lambda value: repr(float(value))),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(-1000, 1000, places=17).map(str),
    st.sampled_from(["", "0", "-0", "-0.0", "0.0", "40.7500", "007.5", "5.", ".5", "+5.0", "1e5", "1E-5", "0.0001"]),
    st.sampled_from(["0.00001", "-1e-400", "999999999999999.9", "9999999999999999.0", "0.1" + "0" * 20]),
    st.sampled_from(
        ["123456789012345.1", "12345678901234.12", "0.30000000000000004", "1e22", "1e16", "1234567890123456"]
    ),
)
NASTY_NUMBERS = st.one_of(
    NUMBERS,
    st.sampled_from(
        [" 1.5", "1.5 ", "1 5", "--5", "1-2", "1.2.3", ".", "-", "e", "1e", "U", "T", "1_0", "nan", "NA", "1e400"]
    ),
)
INTEGERS = st.integers(-(10**17), 10**17).map(str)
NASTY_INTEGERS = st.one_of(
    INTEGERS, st.sampled_from(["", "-0", "007", "+5", "1.0", "1e3", "9" * 18, "9" * 19, "9" * 25, " 3"])
)
NASTY_TEXTS = st.one_of(
    TEXTS,
    st.sampled_from(
        ["", "NA", '"a,b"', '"a\nb"', "12", "1.5", "     12", "1     ", "-1e-5", "é", "a b", "1--e-+", "-" * 6]
    ),
)


def _file(rows, ending="\n"):
    lines = [",".join(KINDS), *(",".join(row) for row in rows)]
    return "\n".join(lines) + ending


def _through_pandas(source, test_size):
    train, test = hold_out(read_csv(source), test_size)
    return _bytes(train), _bytes(test)


def _bytes(table):
    buffer = io.StringIO()
    table.to_csv(buffer, index=False, lineterminator="\n")
    return buffer.getvalue().encode()


def _rows(texts, numbers, integers):
    return st.lists(st.tuples(texts, numbers, numbers, integers), min_size=2, max_size=12)


@pytest.fixture
def small_blocks(monkeypatch):
    """So that small files too are read in several blocks and sorted in several parts."""
    monkeypatch.setattr(big_tables, "_BLOCK", 100)
    monkeypatch.setattr(big_tables, "_PART", 150)


same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


@same_folder
@given(rows=_rows(TEXTS, NUMBERS, INTEGERS), ending=st.sampled_from(["\n", ""]))
def test_plain_files_are_divided_as_pandas_does(small_blocks, tmp_path, rows, ending):
    rows = [*rows, ("2009-06-15 17:26:21.0", "1.5", "0.5", "1")]  # what shows that the columns hold floats
    source, target = tmp_path / "source.csv", tmp_path / "train.csv"
    source.write_text(_file(rows, ending), encoding="utf-8")
    train, test = _through_pandas(source, 0.3)
    assert _bytes(_divide(source, KINDS, 0.3, target, 0)) == test
    assert target.read_bytes() == train
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.csv", "train.csv"]


@same_folder
@given(rows=_rows(NASTY_TEXTS, NASTY_NUMBERS, NASTY_INTEGERS), ending=st.sampled_from(["\n", "", "\n\n", "\r\n"]))
@example(rows=[("2009-06-15 17:26:21.0", "1", "2", "3")] * 3, ending="\n")
@example(rows=[("2009-06-15 17:26:21.0", "", "2.5", "3")] * 3, ending="\n")
@example(rows=[("2009-06-15 17:26:21.0", "-0", "2.5", "3"), ("2009-06-15 17:26:21.0", "", "2.5", "3")], ending="\n")
@example(rows=[("2009-06-15 17:26:21.0", "1.5", "2.5", "")] * 3, ending="\n")
@example(rows=[("2009-06-15 17:26:21.0", " 1.5", "2.5 ", "3")] * 3, ending="\n")
@example(
    rows=[("2009-06-15 17:26:21.0", "1.5", "2.5", "3"), ("2009-06-15 17:26:21.0", "1e400", "2.5", "3")], ending="\n"
)
@example(rows=[("     12", "1.5", "2.5", "3")] * 3, ending="\n")
def test_whatever_the_file_holds_the_result_is_that_of_pandas(small_blocks, tmp_path, rows, ending):
    source, target = tmp_path / "source.csv", tmp_path / "train.csv"
    source.write_bytes(_file(rows, ending).encode())
    train, test = _through_pandas(source, 0.3)
    assert _bytes(hold_out_lines(source, KINDS, 0.3, target)) == test
    assert target.read_bytes() == train


@pytest.mark.parametrize(
    "content",
    [
        "key,fare,count\n1,2,3\n",
        _file([("2009-06-15 17:26:21.0", "1", "2.5", "3")]),
        _file([('"2009-06-15 17:26:21.0"', "1.5", "2.5", "3")]),
        _file([("2009-06-15 17:26:21.0", "1.5", "2.5", "")]),
        _file([("2009-06-15 17:26:21.0", "1.5", "NA", "3")]),
        _file([("2009-06-15 17:26:21.0", "1.5", "2.5")]),
        _file([("2009-06-15 17:26:21.0", "1.5", "2.5", "3")] * 3).replace("\n", "\r\n"),
    ],
    ids=["header", "whole column of integers", "quotes", "gap in integers", "word", "field missing", "CRLF"],
)
def test_what_could_be_read_in_two_ways_is_left_to_pandas(tmp_path, content):
    source = tmp_path / "source.csv"
    source.write_bytes((content + content.partition("\n")[2] * 3).encode())
    with pytest.raises(_NotPlain):
        _divide(source, KINDS, 0.3, tmp_path / "train.csv", 0)


def test_one_empty_side_is_an_error(tmp_path):
    source = tmp_path / "source.csv"
    source.write_text(_file([("2009-06-15 17:26:21.0", "1.5", "2.5", "3")]))
    with pytest.raises(PreparationError, match="can't be divided"):
        hold_out_lines(source, KINDS, 0.3, tmp_path / "train.csv")
