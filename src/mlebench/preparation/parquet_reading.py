"""Reads columns of numbers out of Parquet files, page by page and without a library.

What contests are shipped in is read: whole numbers and floats of 32 and 64 bits without gaps, plain or by a
dictionary, not packed or by gzip or Snappy. Anything else is refused by name.
Sources: the Parquet format's `parquet.thrift` and `Encodings.md`; Snappy's `format_description.txt`.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlebench.errors import PreparationError

_DTYPES = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
_TYPE_NAMES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 0, 2, 3
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8
_REQUIRED, _OPTIONAL = 0, 1
_MAGIC = b"PAR1"

_Struct = dict[int, Any]  # the fields of a Thrift structure by their numbers
_Buffer = bytes | mmap.mmap


class _Unsupported(Exception):
    """The file makes use of what is not read here."""


def column_names(path: Path) -> list[str]:
    """The names of the columns in file order. Raises PreparationError if the file is damaged or has nested columns."""
    with _opened(path) as buffer:
        return [leaf[4].decode("utf-8") for leaf in _leaves(_footer(buffer))]


def read_column(path: Path, name: str) -> Iterator[np.ndarray]:
    """The values of a column page by page, each of shape (rows of the page,).

    Raises PreparationError if the file is damaged, there is no such column, or it is none that can be read.
    """
    with _opened(path) as buffer:
        footer = _footer(buffer)
        names = [leaf[4].decode("utf-8") for leaf in _leaves(footer)]
        if name not in names:
            raise _Unsupported(f"there is no column {name}")
        place = names.index(name)
        for group in footer[4]:
            yield from _pages(buffer, _leaves(footer)[place], group[1][place][3])


@contextmanager
def _opened(path: Path) -> Iterator[mmap.mmap]:
    """The file in memory; whatever goes wrong with it is told with its name."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
            yield buffer
    except _Unsupported as error:
        raise PreparationError(f"{path.name}: {error}") from error
    except (ValueError, LookupError, TypeError, zlib.error) as error:
        raise PreparationError(f"{path.name} is no Parquet file, or it is damaged: {error}") from error


def _footer(buffer: mmap.mmap) -> _Struct:
    if buffer[:4] != _MAGIC or buffer[-4:] != _MAGIC:
        raise ValueError("it does not begin and end with PAR1")
    length = int.from_bytes(buffer[-8:-4], "little")
    return _Thrift(buffer[-8 - length : -8]).struct()


def _leaves(footer: _Struct) -> list[_Struct]:
    root, *leaves = footer[2]
    if len(leaves) != root[5] or any(leaf.get(3) not in (_REQUIRED, _OPTIONAL) for leaf in leaves):
        raise _Unsupported("columns within columns are not read")
    return leaves


@dataclass
class _Thrift:
    """Reads values of Thrift's compact protocol from `buffer`, beginning at `place`."""

    buffer: _Buffer
    place: int = 0

    def struct(self) -> _Struct:
        fields: _Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 12:
            return self.struct()
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._byte() == 1 if head & 15 in (1, 2) else self._value(head & 15) for _ in range(size)]
        if kind in (4, 5, 6):
            return self._integer()
        size = {3: 1, 7: 8}[kind] if kind != 8 else self._varint()  # a byte, a float, a text
        self.place += size
        return self.buffer[self.place - size : self.place]

    def _byte(self) -> int:
        self.place += 1
        return self.buffer[self.place - 1]

    def _varint(self) -> int:
        value, self.place = _varint(self.buffer, self.place)
        return value

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def _varint(buffer: _Buffer, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    value = shift = 0
    while True:
        byte = buffer[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place


def _pages(buffer: mmap.mmap, leaf: _Struct, chunk: _Struct) -> Iterator[np.ndarray]:
    """The values of a column in one row group, page by page."""
    if chunk[1] not in _DTYPES:
        raise _Unsupported(f"columns of the type {_TYPE_NAMES[chunk[1]]} are not read")
    dtype = np.dtype(_DTYPES[chunk[1]])
    dictionary = np.empty(0, dtype)
    place = min(start for start in (chunk[9], chunk.get(11)) if start)
    left = chunk[5]
    while left > 0:
        thrift = _Thrift(buffer, place)
        header = thrift.struct()
        place = thrift.place + header[3]
        content = buffer[thrift.place : place]
        if header[1] == _DICTIONARY_PAGE:
            dictionary = np.frombuffer(_unpacked(content, chunk[4], header[2]), dtype, header[7][1])
        elif header[1] in (_DATA_PAGE, _DATA_PAGE_2):
            values = _page_values(content, header, chunk[4], leaf[3] == _OPTIONAL, dictionary)
            left -= len(values)
            yield values


def _page_values(content: bytes, header: _Struct, codec: int, optional: bool, dictionary: np.ndarray) -> np.ndarray:
    if header[1] == _DATA_PAGE:
        facts = header[5]
        rows, encoding = facts[1], facts[2]
        content = _unpacked(content, codec, header[2])
        if optional:
            content = _without_levels(content, rows, facts[3])
    else:
        facts = header[8]
        rows, encoding, levels = facts[1], facts[4], facts[5] + facts[6]
        if facts[2]:
            raise _Unsupported("columns with missing values are not read")
        content = content[levels:]
        if facts.get(7, True):
            content = _unpacked(content, codec, header[2] - levels)
    if encoding == _PLAIN:
        return np.frombuffer(content, dictionary.dtype, rows)
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return dictionary[_runs(content[1:], content[0], rows)]
    raise _Unsupported(f"pages of the encoding number {encoding} are not read")


def _without_levels(content: bytes, rows: int, encoding: int) -> bytes:
    """The values behind the flags that say which of them are there; all must be."""
    if encoding != _RLE:
        raise _Unsupported(f"levels of the encoding number {encoding} are not read")
    end = 4 + int.from_bytes(content[:4], "little")
    if not _runs(content[4:end], 1, rows).all():
        raise _Unsupported("columns with missing values are not read")
    return content[end:]


def _runs(content: bytes, width: int, count: int) -> np.ndarray:
    """`count` numbers of `width` bits each, from runs of equal ones and groups of eight packed ones."""
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    powers = 1 << np.arange(width, dtype=np.int64)
    parts, place, found = [], 0, 0
    while found < count:
        head, place = _varint(content, place)
        if head & 1:
            end = place + (head >> 1) * width
            bits = np.unpackbits(np.frombuffer(content[place:end], np.uint8), bitorder="little")
            part = bits[: len(bits) // width * width].reshape(-1, width) @ powers
        else:
            end = place + (width + 7) // 8
            part = np.full(head >> 1, int.from_bytes(content[place:end], "little"))
        if len(part) == 0:
            raise ValueError("a run of nothing")
        parts.append(part)
        place, found = end, found + len(part)
    return np.concatenate(parts)[:count] if parts else np.zeros(0, dtype=np.int64)


def _unpacked(content: bytes, codec: int, size: int) -> bytes:
    unpack = _UNPACK.get(codec)
    if unpack is None:
        raise _Unsupported(f"pages that are packed by {_CODECS[codec]} are not read")
    plain = unpack(content)
    if len(plain) != size:
        raise ValueError(f"a page has {len(plain)} bytes instead of {size}")
    return plain


def unpack_snappy(packed: bytes) -> bytes:
    """The bytes that Snappy packed; raises ValueError or LookupError if they are damaged."""
    size, place = _varint(packed, 0)
    plain, end = bytearray(), len(packed)
    while place < end:
        tag = packed[place]
        place += 1
        kind, length = tag & 3, (tag >> 2) + 1
        if kind == 0:  # bytes as they are
            if length > 60:
                width = length - 60
                length = int.from_bytes(packed[place : place + width], "little") + 1
                place += width
            plain += packed[place : place + length]
            place += length
            continue
        if kind == 1:  # bytes that stood before, so far back
            length = (tag >> 2 & 7) + 4
            back = (tag >> 5) << 8 | packed[place]
            place += 1
        else:
            width = 2 if kind == 2 else 4
            back = int.from_bytes(packed[place : place + width], "little")
            place += width
        start = len(plain) - back
        if not 0 < back <= len(plain):
            raise ValueError("Snappy refers to what is not there")
        piece = plain[start : start + length]
        plain += piece if back >= length else (piece * (length // back + 1))[:length]
    if len(plain) != size:
        raise ValueError(f"Snappy gives {len(plain)} bytes instead of {size}")
    return bytes(plain)


_UNPACK: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    1: unpack_snappy,
    2: lambda content: zlib.decompress(content, wbits=31),
}
