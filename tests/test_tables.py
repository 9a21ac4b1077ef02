"""Reading a table in parts gives what reading it as a whole gives."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from mlebench import tables
from mlebench.cells import as_numbers
from mlebench.preparation.parts import read_parts
from mlebench.tables import places_of

CELLS = st.sampled_from(["1", "07", "-3", "2.5", "1e5", "", "nan", "True", "False", "x", "1 2", '"5"', " 6", "inf"])
BIG = st.sampled_from(["1", "9223372036854775808", "18446744073709551616", "0.1", ""])
ROWS = st.lists(st.tuples(CELLS, CELLS, BIG), min_size=0, max_size=12)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "table.csv"


@given(ROWS, st.sampled_from([None, {"b": str}]))
def test_parts_give_the_same_table(path, rows, dtype):
    path.write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_ROWS_OF_A_PART", 2)
        found = tables.read_csv_in_parts(path, dtype=dtype)
    assert_frame_equal(found.reset_index(drop=True), tables.read_csv(path, dtype=dtype), check_exact=True)


def test_a_row_limit_holds_for_all_parts_together(path, monkeypatch):
    path.write_text("a\n" + "1\n" * 9)
    monkeypatch.setattr(tables, "_ROWS_OF_A_PART", 2)
    assert len(tables.read_csv_in_parts(path, nrows=5)) == 5


def test_a_fault_in_a_later_part_is_raised(path, monkeypatch):
    path.write_text("a,b\n" + "1,2\n" * 9 + "1,2,3\n")
    monkeypatch.setattr(tables, "_ROWS_OF_A_PART", 2)
    with pytest.raises(pd.errors.ParserError, match="line 11"):
        tables.read_csv_in_parts(path)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(10**19, 10**30))
def test_numbers_among_texts_are_exact(path, number):
    path.write_text(f"a,b\n{number!r},{number!r}\nx,0.5\n")
    table = tables.read_csv(path)
    assert as_numbers(table["a"])[0] == as_numbers(table["b"])[0] == float(number)


@pytest.mark.parametrize("cells", [["9" * 20, "x", "NA"], ["", "-7", "", "9" * 400, "", "x"], ["9" * 20, "null"]])
@pytest.mark.parametrize("options", [{}, {"dtype": {"b": str}}])
def test_cells_are_missing_behind_a_huge_integer(path, cells, options):
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    expected = [cell in tables.MISSING_WORDS for cell in cells]
    for read in (tables.read_csv, tables.read_csv_in_parts, lambda *a, **b: pd.concat(read_parts(*a, **b))):
        assert read(path, **options)["a"].isna().tolist() == expected
        verbatim = read(path, keep_default_na=False, **options)["a"]
        assert not verbatim.isna().any()


@pytest.mark.parametrize("cells", [["", "9223372036854775808"], ["NA", " 7", "18446744073709551615", "nan"]])
def test_missing_cells_beside_nothing_but_huge_integers_stay_texts(path, cells):
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    assert tables.read_csv(path)["a"].tolist() == tables.read_csv_in_parts(path)["a"].tolist() == cells


def test_the_words_for_missing_cells_are_those_of_pandas():
    assert set(tables.MISSING_WORDS) == pd._libs.parsers.STR_NA_VALUES


@pytest.mark.parametrize("kind", [str, object, "int64"])
@given(data=st.data())
def test_places_are_those_that_pandas_finds(kind, data):
    known = data.draw(st.permutations(range(12)))[:8]
    ids = data.draw(st.lists(st.integers(0, 12), max_size=20))
    in_order = data.draw(st.booleans())
    first = pd.Series([_as(kind, number) for number in known], dtype=kind)
    second = first.copy() if in_order else pd.Series([_as(kind, number) for number in ids], dtype=kind)
    np.testing.assert_array_equal(places_of(second, first), pd.Index(first).get_indexer(pd.Index(second)))


def _as(kind, number):
    """The number or a text of it; texts may be missing."""
    return number if kind == "int64" else (None if number == 11 else f"id {number}")
