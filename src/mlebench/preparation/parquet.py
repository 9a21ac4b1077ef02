"""Parquet files of plain numbers for synthetic twins, written without a library and always with the same bytes.

One row group, one gzipped page a column, no gaps. Every reader of Parquet takes them.
Source: the Parquet format's `parquet.thrift`, in Thrift's compact protocol.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping, Sequence

import numpy as np

# Numbers of the format's enumerations
_KINDS = {"int32": 1, "int64": 2, "float32": 4, "float64": 5}
_REQUIRED, _PLAIN, _RLE, _GZIP, _DATA_PAGE = 0, 0, 3, 2, 0
_INT32, _INT64, _TEXT, _LIST, _STRUCT = 5, 6, 8, 9, 12  # of the compact protocol

_MAGIC = b"PAR1"
_Field = tuple[int, int, bytes]  # number, type, encoded value


def parquet_bytes(columns: Mapping[str, np.ndarray]) -> bytes:
    """A Parquet file; `columns`: arrays of equal length, shape (rows,), of int32, int64, float32 or float64.

    Raises ValueError if the lengths differ, KeyError for any other type.
    """
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"the columns have the lengths {sorted(lengths)}")
    rows = lengths.pop()
    content = bytearray(_MAGIC)
    chunks = []
    for name, values in columns.items():
        start = len(content)
        packed, sizes = _page(values)
        content += packed
        chunks.append(_chunk(name, values, start, sizes))
    group = _struct(
        (1, _LIST, _list(_STRUCT, chunks)), (2, _INT64, _integer(len(content) - 4)), (3, _INT64, _integer(rows))
    )
    footer = _struct(
        (1, _INT32, _integer(1)),
        (2, _LIST, _list(_STRUCT, _schema(columns))),
        (3, _INT64, _integer(rows)),
        (4, _LIST, _list(_STRUCT, [group])),
        (6, _TEXT, _text("mlebench")),
    )
    return bytes(content) + footer + struct.pack("<I", len(footer)) + _MAGIC


def _page(values: np.ndarray) -> tuple[bytes, tuple[int, int]]:
    """Header and values of the only page of a column, and their size before and after packing."""
    plain = values.astype(values.dtype.newbyteorder("<")).tobytes()
    packed = gzip.compress(plain, mtime=0)
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
    return header + packed, (len(header) + len(plain), len(header) + len(packed))


def _chunk(name: str, values: np.ndarray, start: int, sizes: tuple[int, int]) -> bytes:
    """What the footer says of a column's place."""
    facts = _struct(
        (1, _INT32, _integer(_KINDS[values.dtype.name])),
        (2, _LIST, _list(_INT32, [_integer(_PLAIN), _integer(_RLE)])),
        (3, _LIST, _list(_TEXT, [_text(name)])),
        (4, _INT32, _integer(_GZIP)),
        (5, _INT64, _integer(len(values))),
        (6, _INT64, _integer(sizes[0])),
        (7, _INT64, _integer(sizes[1])),
        (9, _INT64, _integer(start)),
    )
    return _struct((2, _INT64, _integer(start)), (3, _STRUCT, facts))


def _schema(columns: Mapping[str, np.ndarray]) -> list[bytes]:
    """The root, and an element for each column."""
    root = _struct((4, _TEXT, _text("schema")), (5, _INT32, _integer(len(columns))))
    leaves = [
        _struct(
            (1, _INT32, _integer(_KINDS[values.dtype.name])),
            (3, _INT32, _integer(_REQUIRED)),
            (4, _TEXT, _text(name)),
        )
        for name, values in columns.items()
    ]
    return [root, *leaves]


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
