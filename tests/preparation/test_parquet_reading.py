"""Columns of Parquet files as they were written: by the package's own writer, and page by page by hand."""

import gzip
import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.errors import PreparationError
from mlebench.preparation.parquet import (
    _INT32,
    _INT64,
    _LIST,
    _STRUCT,
    _TEXT,
    ParquetWriter,
    _integer,
    _list,
    _struct,
    _text,
    _varint,
    parquet_bytes,
)
from mlebench.preparation.parquet_reading import column_names, read_column, unpack_snappy

SNAPPY, GZIP, ZSTD = 1, 2, 6


def _read(path, name="x"):
    pages = list(read_column(path, name))
    return np.concatenate(pages) if pages else np.empty(0)


def _snappy(content, rng):
    """Packs as Snappy may: pieces as they are, and references of all kinds to what stood before."""
    packed, place = _varint(len(content)), 0
    while place < len(content):
        length = int(rng.choice([1, 4, 5, 11, 12, 60, 61, 64, 300]))
        start = content.rfind(content[place : place + length], 0, place + length - 1) if place else -1
        back = place - start
        if length <= 64 and start >= 0 and back > 0 and place + length <= len(content):
            if 4 <= length <= 11 and back < 2048 and rng.random() < 0.7:
                packed += bytes([(length - 4) << 2 | (back >> 8) << 5 | 1, back & 255])
            elif back < 65536 and rng.random() < 0.7:
                packed += bytes([(length - 1) << 2 | 2]) + struct.pack("<H", back)
            else:
                packed += bytes([(length - 1) << 2 | 3]) + struct.pack("<I", back)
            place += length
            continue
        piece = content[place : place + length]
        size = len(piece) - 1
        head = bytes([size << 2]) if size < 60 else bytes([61 << 2]) + struct.pack("<H", size)
        packed, place = packed + head + piece, place + len(piece)
    return packed


@given(st.lists(st.sampled_from([b"a", b"bc", b"\0\0\0\0", b"abcabcabcd", bytes(range(90))])), st.integers(0, 99))
def test_snappy(pieces, seed):
    content = b"".join(pieces)
    assert unpack_snappy(_snappy(content, np.random.default_rng(seed))) == content


@pytest.mark.parametrize("packed", [b"\x05\x10abc", b"\x04\x01\x05", b"\x03\x08ab", b"\xff", b""])
def test_damaged_snappy_is_refused(packed):
    with pytest.raises((ValueError, LookupError)):
        unpack_snappy(packed)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("lengths", [[0], [3], [2, 0, 5], [0, 1], [4, 0], [0, 0]], ids=str)
def test_what_the_writer_wrote(dtype, lengths, tmp_path):
    rng = np.random.default_rng(0)
    pages = [(rng.normal(size=length) * 1e5).astype(dtype) for length in lengths]
    with (tmp_path / "x.parquet").open("wb") as file:
        writer = ParquetWriter(file, level=1)
        writer.write_column("first", iter(pages))
        writer.write_column("x", pages[::-1])
        writer.close()
    assert column_names(tmp_path / "x.parquet") == ["first", "x"]
    np.testing.assert_array_equal(_read(tmp_path / "x.parquet", "first"), np.concatenate(pages))
    np.testing.assert_array_equal(_read(tmp_path / "x.parquet"), np.concatenate(pages[::-1]))
    assert not any(len(page) == 0 for page in read_column(tmp_path / "x.parquet", "x"))


def test_small_integers_are_stored_as_large_ones(tmp_path):
    (tmp_path / "x.parquet").write_bytes(
        parquet_bytes({"x": np.array([-7, 300], np.int16), "b": np.array([True, False])})
    )
    assert _read(tmp_path / "x.parquet").tolist() == [-7, 300]


def test_columns_of_a_file_must_be_of_one_length():
    writer = ParquetWriter(io.BytesIO())
    writer.write_column("a", [np.arange(2), np.arange(3)])
    writer.write_column("b", [np.arange(4)])
    with pytest.raises(ValueError, match=r"lengths \[4, 5\]"):
        writer.close()


# --- files of other writers, page by page


def _page_header(kind, plain, packed, facts):
    number = {0: 5, 2: 7, 3: 8}[kind]
    return _struct(
        (1, _INT32, _integer(kind)),
        (2, _INT32, _integer(plain)),
        (3, _INT32, _integer(packed)),
        (number, _STRUCT, _struct(*facts)),
    )


def _numbers(*numbers):
    return [(place, _INT32, _integer(number)) for place, number in enumerate(numbers, start=1)]


def _data_page(content, rows, encoding, codec):
    packed = PACK[codec](content)
    return _page_header(0, len(content), len(packed), _numbers(rows, encoding, 3, 3)) + packed


def _data_page_2(levels, content, rows, encoding, codec, missing=0):
    packed = PACK[codec](content)
    facts = _numbers(rows, missing, rows, encoding, len(levels), 0)
    return _page_header(3, len(levels + content), len(levels + packed), facts) + levels + packed


def _dictionary_page(values, codec):
    packed = PACK[codec](values.tobytes())
    return _page_header(2, values.nbytes, len(packed), _numbers(len(values), 0)) + packed


PACK = {
    0: bytes,
    SNAPPY: lambda content: _snappy(content, np.random.default_rng(1)),
    GZIP: lambda content: gzip.compress(content, mtime=0),
    ZSTD: bytes,
}


def _file(pages, rows, codec, *, optional=False, dictionary=0, kind=2, groups=1):
    """A file of one column `x`; every row group is the same pages, of which the first may be a dictionary."""
    content, chunks = b"PAR1", []
    for _ in range(groups):
        facts = [
            (1, _INT32, _integer(kind)),
            (2, _LIST, _list(_INT32, [_integer(0)])),
            (3, _LIST, _list(_TEXT, [_text("x")])),
            (4, _INT32, _integer(codec)),
            (5, _INT64, _integer(rows)),
            (6, _INT64, _integer(0)),
            (7, _INT64, _integer(sum(map(len, pages)))),
            (9, _INT64, _integer(len(content) + dictionary)),
        ]
        if dictionary:
            facts.append((11, _INT64, _integer(len(content))))
        chunks.append(_struct((2, _INT64, _integer(0)), (3, _STRUCT, _struct(*facts))))
        content += b"".join(pages)
    root = _struct((4, _TEXT, _text("schema")), (5, _INT32, _integer(1)))
    leaf = _struct((1, _INT32, _integer(kind)), (3, _INT32, _integer(int(optional))), (4, _TEXT, _text("x")))
    row_groups = [
        _struct((1, _LIST, _list(_STRUCT, [chunk])), (2, _INT64, _integer(0)), (3, _INT64, _integer(rows)))
        for chunk in chunks
    ]
    footer = _struct(
        (1, _INT32, _integer(1)),
        (2, _LIST, _list(_STRUCT, [root, leaf])),
        (3, _INT64, _integer(rows * groups)),
        (4, _LIST, _list(_STRUCT, row_groups)),
    )
    return content + footer + struct.pack("<I", len(footer)) + b"PAR1"


VALUES = np.array([5, -3, 2**40, 0, 5, 5, 5, 5, 5, 7, 7], dtype="<i8")
ALL_THERE = _varint(11 << 1) + b"\1"  # a run of 11 ones


def _levels(runs):
    return struct.pack("<I", len(runs)) + runs


@pytest.mark.parametrize("codec", [0, SNAPPY, GZIP])
@pytest.mark.parametrize("groups", [1, 3])
def test_plain_pages(codec, groups, tmp_path):
    pages = [_data_page(part.tobytes(), len(part), 0, codec) for part in (VALUES[:4], VALUES[4:])]
    (tmp_path / "x.parquet").write_bytes(_file(pages, 11, codec, groups=groups))
    assert _read(tmp_path / "x.parquet").tolist() == VALUES.tolist() * groups


@pytest.mark.parametrize("codec", [0, SNAPPY, GZIP])
def test_a_column_that_could_have_gaps(codec, tmp_path):
    mixed = _varint(3 << 1) + b"\1" + _varint(1 << 1 | 1) + b"\xff"  # three ones, then eight packed ones
    pages = [_data_page(_levels(runs) + VALUES.tobytes(), 11, 0, codec) for runs in (ALL_THERE, mixed)]
    pages.append(_data_page_2(ALL_THERE, VALUES.tobytes(), 11, 0, codec))
    (tmp_path / "x.parquet").write_bytes(_file(pages, 33, codec, optional=True))
    assert _read(tmp_path / "x.parquet").tolist() == VALUES.tolist() * 3


def test_a_gap_is_refused(tmp_path):
    first = _varint(11 << 1 | 0) + b"\0"
    pages = [_data_page(_levels(first) + VALUES.tobytes(), 11, 0, 0)]
    (tmp_path / "x.parquet").write_bytes(_file(pages, 11, 0, optional=True))
    with pytest.raises(PreparationError, match=r"x\.parquet: columns with missing values"):
        _read(tmp_path / "x.parquet")
    pages = [_data_page_2(ALL_THERE, VALUES.tobytes(), 11, 0, 0, missing=1)]
    (tmp_path / "x.parquet").write_bytes(_file(pages, 11, 0, optional=True))
    with pytest.raises(PreparationError, match="missing values"):
        _read(tmp_path / "x.parquet")


@pytest.mark.parametrize("codec", [0, SNAPPY, GZIP])
@pytest.mark.parametrize("encoding", [2, 8])
def test_a_dictionary(codec, encoding, tmp_path):
    words = np.array([10**12, -4, 0, 99, 5], dtype="<i8")
    indices = np.array([4, 1, 0, 2, 3, 3, 1, 0, 2, 2, 2, 2, 2])
    bits = np.unpackbits(indices[:8].astype(np.uint8)[:, None], axis=1, bitorder="little")[:, :3]
    runs = _varint(1 << 1 | 1) + np.packbits(bits.ravel(), bitorder="little").tobytes() + _varint(5 << 1) + b"\2"
    dictionary = _dictionary_page(words, codec)
    pages = [dictionary, _data_page(b"\3" + runs, 13, encoding, codec)]
    (tmp_path / "x.parquet").write_bytes(_file(pages, 13, codec, dictionary=len(dictionary)))
    assert _read(tmp_path / "x.parquet").tolist() == words[indices].tolist()


def test_what_is_not_read_is_told(tmp_path):
    path = tmp_path / "x.parquet"
    page = _data_page(VALUES.tobytes(), 11, 0, 0)
    cases = {
        "ZSTD": _file([_data_page(VALUES.tobytes(), 11, 0, ZSTD)], 11, ZSTD),
        "BYTE_ARRAY": _file([page], 11, 0, kind=6),
        "encoding number 5": _file([_data_page(VALUES.tobytes(), 11, 5, 0)], 11, 0),
        "no column x": parquet_bytes({"y": VALUES}),
        "damaged": _file([page], 11, 0)[:-9],
        "no Parquet file": b"",
    }
    for message, content in cases.items():
        path.write_bytes(content)
        with pytest.raises(PreparationError, match=message):
            _read(path)
