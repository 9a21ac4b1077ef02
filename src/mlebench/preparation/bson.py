"""BSON files, documents one after another: find fields and copy documents without decoding the rest.

Documents are found by their length prefix and elements are skipped by theirs, so that pictures in them are never
looked at. Source: the BSON specification 1.1 (bsonspec.org).
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress

_INT32, _INT64 = 0x10, 0x12
# Lengths of values by kind of element: fixed ones, and those that a 32-bit number in front tells, plus so many bytes.
_FIXED = {
    0x01: 8,
    0x06: 0,
    0x07: 12,
    0x08: 1,
    0x09: 8,
    0x0A: 0,
    _INT32: 4,
    0x11: 8,
    _INT64: 8,
    0x13: 16,
    0x7F: 0,
    0xFF: 0,
}
_TOLD = {0x02: 4, 0x03: 0, 0x04: 0, 0x05: 5, 0x0D: 4, 0x0E: 4, 0x0F: 0}
_STEP = 1000  # documents between two reports of progress

Element = tuple[str, int, int, int, int]  # name, kind, and where it, its value and the next one begin


def find_integers(file: Path, names: Sequence[str]) -> pd.DataFrame:
    """Where the documents of `file` stand, and the integers of the fields `names`, in one pass.

    A row for each document, in file order: `start` and `end` in bytes, and for each name its value and, as
    `<name>.start` and `<name>.end`, where the element stands. Raises PreparationError if the file is missing or
    damaged, or a document lacks one of the fields.
    """
    columns = ["start", "end", *(f"{name}{part}" for name in names for part in ("", ".start", ".end"))]
    places = {name: 2 + 3 * number for number, name in enumerate(names)}
    rows = array("q")  # the table, row after row: 8 bytes a number
    with _mapped(file) as data, progress.step(f"looking through {file.name}", len(data)) as done:
        start = reported = 0
        while start < len(data):
            row = _integers(data, start, places, len(columns))
            rows.extend(row)
            start = row[1]
            if len(rows) % (_STEP * len(columns)) == 0:
                done(start - reported)
                reported = start
    table = np.frombuffer(rows, dtype=np.int64).reshape(-1, len(columns))
    return pd.DataFrame(table, columns=columns)


def copy_documents(source: Path, target: Path, documents: pd.DataFrame) -> None:
    """Write the documents of `source` that stand in `documents`, rows of `find_integers`, in their order."""
    follows = documents["start"].to_numpy()[1:] == documents["end"].to_numpy()[:-1]
    starts = documents["start"].to_numpy()[np.concatenate([[True], ~follows])] if len(documents) else []
    ends = documents["end"].to_numpy()[np.concatenate([~follows, [True]])] if len(documents) else []
    with _mapped(source) as data, target.open("wb") as output:
        for start, end in zip(map(int, starts), map(int, ends), strict=True):
            output.write(data[start:end])


def copy_documents_without(source: Path, target: Path, documents: pd.DataFrame, name: str) -> None:
    """Write the documents as `copy_documents`, but without their element `name`, which was looked for."""
    parts = documents[["start", "end", f"{name}.start", f"{name}.end"]].to_numpy()
    with _mapped(source) as data, target.open("wb") as output:
        for start, end, cut, resume in parts.tolist():
            output.write(struct.pack("<i", end - start - (resume - cut)) + data[start + 4 : cut] + data[resume:end])


@contextmanager
def _mapped(file: Path) -> Iterator[mmap.mmap]:
    """The bytes of `file`. A ValueError while they are read becomes a PreparationError that names the file."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            data.madvise(mmap.MADV_SEQUENTIAL)
            yield data
    except OSError as error:
        raise PreparationError(f"{file} can't be read: {error}") from error
    except ValueError as error:  # an empty file can't be mapped
        raise PreparationError(f"{file} is damaged or no BSON file: {error}") from error


def _integers(data: mmap.mmap, start: int, places: dict[str, int], length: int) -> list[int]:
    """The row of the document at `start`; `places` tells the place of each field in it."""
    end = start + _length(data, start, "a document")
    row = [start, end] + [-1] * (length - 2)
    for name, kind, element, value, following in _elements(data, start + 4, end):
        if (place := places.get(name)) is None:
            continue
        if kind not in (_INT32, _INT64):
            raise ValueError(f"the field {name} of the document at byte {start} is no integer")
        number = int.from_bytes(data[value:following], "little", signed=True)
        row[place : place + 3] = number, element, following
    if lost := [name for name, place in places.items() if row[place + 1] < 0]:
        raise ValueError(f"the document at byte {start} has no field {', '.join(lost)}")
    return row


def _elements(data: mmap.mmap, start: int, end: int) -> Iterator[Element]:
    """The elements between a document's length prefix and its `end`."""
    place = start
    while place < end - 1:
        kind = data[place]
        zero = data.find(b"\0", place + 1, end)
        value = zero + 1
        if kind in _FIXED:
            following = value + _FIXED[kind]
        elif kind in _TOLD:
            following = value + _TOLD[kind] + _length(data, value, "an element", at_least=0)
        else:
            raise ValueError(f"at byte {place}: there are no elements of kind {kind:#04x}")
        if zero < 0 or following >= end:
            raise ValueError(f"at byte {place}: an element is longer than its document")
        yield data[place + 1 : zero].decode(errors="replace"), kind, place, value, following
        place = following
    if data[end - 1] != 0:
        raise ValueError(f"the document that ends at byte {end} does not end with a zero")


def _length(data: mmap.mmap, place: int, what: str, at_least: int = 5) -> int:
    if place + 4 > len(data):
        raise ValueError(f"at byte {place}: {what} is cut off")
    (length,) = struct.unpack_from("<i", data, place)
    if length < at_least or place + length > len(data):
        raise ValueError(f"at byte {place}: {what} has a length of {length:,} bytes")
    return length
