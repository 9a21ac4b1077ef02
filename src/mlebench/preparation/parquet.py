"""Parquet files of plain numbers, written without a library and always with the same bytes.

One row group, gzipped pages, no gaps. Every reader of Parquet takes them.
Source: the Parquet format's `parquet.thrift`, in Thrift's compact protocol.
"""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

# Numbers of the format's enumerations
_KINDS = {"bool": 0, "int16": 1, "int32": 1, "int64": 2, "float32": 4, "float64": 5}
_NARROWER = {"int16": 16}  # stored as 32 bits
_REQUIRED, _PLAIN, _RLE, _GZIP, _DATA_PAGE = 0, 0, 3, 2, 0
_INT32, _INT64, _TEXT, _LIST, _STRUCT = 5, 6, 8, 9, 12  # of the compact protocol

_MAGIC = b"PAR1"
_Field = tuple[int, int, bytes]  # number, type, encoded value


def parquet_bytes(columns: Mapping[str, np.ndarray]) -> bytes:
    """A Parquet file; `columns`: arrays of equal length, shape (rows,): bool, int16, int32, int64, float32 or float64.

    Raises ValueError if the lengths differ, KeyError for any other type.
    """
    file = io.BytesIO()
    writer = ParquetWriter(file)
    for name, values in columns.items():
        writer.write_column(name, [values])
    writer.close()
    return file.getvalue()


@dataclass(frozen=True)
class _Column:
    name: str
    dtype: str
    rows: int
    start: int
    plain_size: int
    packed_size: int


class ParquetWriter:
    """Writes a file column by column, and each of them page by page, so that it need not be in memory."""

    def __init__(self, file: BinaryIO, level: int = 9) -> None:
        """`file` is empty and stays open; `level` is how hard the pages are packed, 1 to 9."""
        self._file, self._level, self._place = file, level, 0
        self._columns: list[_Column] = []
        self._write(_MAGIC)

    def write_column(self, name: str, pages: Iterable[np.ndarray]) -> None:
        """Append a column; `pages`: arrays of one type, shape (rows of the page,), one at least."""
        start, rows, plain_size, values = self._place, 0, 0, np.empty(0)
        for values in pages:
            if len(values):  # some readers take an empty page for the end of the column
                plain_size += self._write_page(values)
                rows += len(values)
        if rows == 0:
            plain_size = self._write_page(values)
        self._columns.append(_Column(name, values.dtype.name, rows, start, plain_size, self._place - start))

    def close(self) -> None:
        """Write the footer. Raises ValueError if the columns differ in length."""
        lengths = {column.rows for column in self._columns}
        if len(lengths) != 1:
            raise ValueError(f"the columns have the lengths {sorted(lengths)}")
        rows = lengths.pop()
        group = _struct(
            (1, _LIST, _list(_STRUCT, [_chunk(column) for column in self._columns])),
            (2, _INT64, _integer(self._place - len(_MAGIC))),
            (3, _INT64, _integer(rows)),
        )
        footer = _struct(
            (1, _INT32, _integer(1)),
            (2, _LIST, _list(_STRUCT, _schema(self._columns))),
            (3, _INT64, _integer(rows)),
            (4, _LIST, _list(_STRUCT, [group])),
            (6, _TEXT, _text("mlebench")),
        )
        self._write(footer + struct.pack("<I", len(footer)) + _MAGIC)

    def _write_page(self, values: np.ndarray) -> int:
        """Returns the size of the page before packing."""
        header, packed, size = _page(values, self._level)
        self._write(header + packed)
        return len(header) + size

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._place += len(content)


def _page(values: np.ndarray, level: int) -> tuple[bytes, bytes, int]:
    """Header and values of a page, and the size of the values before packing."""
    plain = _plain(values)
    packed = gzip.compress(plain, level, mtime=0)
    data = _struct(
        (1, _INT32, _integer(len(values))),
        (2, _INT32, _integer(_PLAIN)),
        (3, _INT32, _integer(_RLE)),
        (4, _INT32, _integer(_RLE)),
    )
    header = _struct(
        (1, _INT32, _integer(_DATA_PAGE)),
        (2, _INT32, _integer(len(plain))),
        (3, _INT32, _integer(len(packed))),
        (5, _STRUCT, data),
    )
    return header, packed, len(plain)


def _plain(values: np.ndarray) -> bytes:
    if values.dtype == bool:
        return np.packbits(values, bitorder="little").tobytes()
    wide = values.astype(np.int32) if values.dtype.name in _NARROWER else values
    return wide.astype(wide.dtype.newbyteorder("<"), copy=False).tobytes()


def _chunk(column: _Column) -> bytes:
    """What the footer says of a column's place."""
    facts = _struct(
        (1, _INT32, _integer(_KINDS[column.dtype])),
        (2, _LIST, _list(_INT32, [_integer(_PLAIN), _integer(_RLE)])),
        (3, _LIST, _list(_TEXT, [_text(column.name)])),
        (4, _INT32, _integer(_GZIP)),
        (5, _INT64, _integer(column.rows)),
        (6, _INT64, _integer(column.plain_size)),
        (7, _INT64, _integer(column.packed_size)),
        (9, _INT64, _integer(column.start)),
    )
    return _struct((2, _INT64, _integer(column.start)), (3, _STRUCT, facts))


def _schema(columns: Sequence[_Column]) -> list[bytes]:
    """The root, and an element for each column."""
    root = _struct((4, _TEXT, _text("schema")), (5, _INT32, _integer(len(columns))))
    return [root, *(_leaf(column) for column in columns)]


def _leaf(column: _Column) -> bytes:
    narrower = _NARROWER.get(column.dtype)
    return _struct(
        (1, _INT32, _integer(_KINDS[column.dtype])),
        (3, _INT32, _integer(_REQUIRED)),
        (4, _TEXT, _text(column.name)),
        *([] if narrower is None else [(6, _INT32, _integer(narrower))]),
    )


def _struct(*fields: _Field) -> bytes:
    """Fields in ascending order, each number as the distance from the one before."""
    encoded = bytearray()
    last = 0
    for number, kind, value in fields:
        encoded += bytes([(number - last) << 4 | kind]) + value
        last = number
    return bytes(encoded) + b"\0"


def _list(kind: int, entries: Sequence[bytes]) -> bytes:
    size = len(entries)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    return head + b"".join(entries)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return _varint(len(encoded)) + encoded


def _integer(value: int) -> bytes:
    """A number that isn't negative, doubled: odd ones would be negative."""
    return _varint(value << 1)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
