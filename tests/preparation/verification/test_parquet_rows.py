"""The hash of a table depends on its columns, types and rows, and on nothing that a writer chooses."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlebench.preparation.verification.parquet_rows import our_writer, table_hash, written_by

ROWS = 150_000  # several batches


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.integers(0, 9, ROWS),
            "share": rng.normal(size=ROWS).astype("float32"),
            "word": rng.choice(["a", "bé", ""], ROWS),
            "flag": rng.random(ROWS) > 0.5,
            "moment": pd.Timestamp("1969-12-31") + pd.to_timedelta(rng.integers(0, 10**9, ROWS), unit="ms"),
        }
    )
    frame.loc[::7, ["share", "word", "moment"]] = None
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.fixture
def hashed(tmp_path):
    def write(table, **options):
        path = tmp_path / "table.parquet"
        pq.write_table(table, path, **options)
        return table_hash(path)

    return write


def replaced(table, name, column):
    return table.set_column(table.schema.get_field_index(name), name, column)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"compression": "none", "row_group_size": 777},
        {"use_dictionary": False, "write_statistics": False},
        {"data_page_version": "2.0", "data_page_size": 100},
        {"version": "1.0"},
        {"version": "2.4", "coerce_timestamps": "ms"},
        {"store_schema": False},
    ],
    ids=str,
)
def test_the_writers_choices_do_not_count(table, hashed, options):
    assert hashed(table, **options) == hashed(table)


def test_equal_values_of_another_making_are_equal(table, hashed):
    words, shares = table["word"], table["share"]
    same = replaced(table, "word", words.dictionary_encode())
    same = replaced(same, "moment", table["moment"].cast(pa.timestamp("ms")))
    missing = shares.fill_null(float("nan"))
    assert hashed(replaced(same, "share", missing)) == hashed(table)
    assert hashed(replaced(table, "word", words.cast(pa.large_string()))) == hashed(table)
    assert hashed(pa.Table.from_batches(table.to_batches(999))) == hashed(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(1),
        lambda table: table.take(list(range(ROWS))[::-1]),
        lambda table: table.select(table.column_names[::-1]),
        lambda table: table.rename_columns(["n", *table.column_names[1:]]),
        lambda table: replaced(table, "number", table["number"].cast(pa.int32())),
        lambda table: replaced(table, "share", table["share"].fill_null(0)),
        lambda table: replaced(table, "word", table["word"].fill_null("")),
        lambda table: replaced(table, "moment", table["moment"].cast(pa.timestamp("us", "UTC"))),
    ],
    ids=["first row", "order", "columns", "name", "type", "missing numbers", "missing words", "time zone"],
)
def test_whatever_a_reader_sees_counts(table, hashed, change):
    assert hashed(change(table)) != hashed(table)


def test_one_value_of_many_counts(table, hashed):
    for name, value in (("number", 99), ("share", 0.5), ("word", "x")):
        values = table[name].to_pylist()
        values[ROWS - 2] = value
        assert hashed(replaced(table, name, pa.array(values, table[name].type))) != hashed(table), name


def test_nested_and_rare_values(hashed):
    values = {
        "list": [[1, 2], [], None, [3, None]],
        "struct": [{"a": 1, "b": "x"}, None, {"a": 2, "b": None}, {"a": 3, "b": "y"}],
        "decimal": [Decimal("1.50"), None, Decimal("2.25"), Decimal("0.00")],
        "bytes": [b"\x00", b"", None, b"ab"],
        "nothing": [None] * 4,
    }
    first = hashed(pa.table(values))
    assert hashed(pa.table(values), row_group_size=1, compression="gzip") == first
    for name, other in (
        ("list", [3, 4]),
        ("struct", {"a": 3, "b": "z"}),
        ("decimal", Decimal("0.01")),
        ("bytes", b"a"),
    ):
        changed = values | {name: [*values[name][:3], other]}
        assert hashed(pa.table(changed)) != first, name
    shifted = values | {"list": [[1], [2], None, [3, None]]}
    assert hashed(pa.table(shifted)) != first


def test_who_wrote_it(tmp_path, table):
    pq.write_table(table.slice(0, 5), tmp_path / "table.parquet")
    assert written_by(tmp_path / "table.parquet") == our_writer()
    (tmp_path / "none.parquet").write_bytes(b"none")
    assert written_by(tmp_path / "none.parquet") == ""
