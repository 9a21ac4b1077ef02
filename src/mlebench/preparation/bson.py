"""BSON files, documents one after another: find integers in them and copy documents, one at a time."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress

_STEP = 1000  # documents between two reports of progress


def find_integers(file: Path, names: Sequence[str]) -> pd.DataFrame:
    """Where the documents of `file` stand, and the integers of the fields `names`, in one pass.

    A row for each document, in file order: `start` and `end` in bytes, and the value of each of `names`. Raises
    PreparationError if the file is missing or damaged, or a document lacks one of the fields.
    """
    from bson import decode_file_iter

    columns = ["start", "end", *names]
    rows = array("q")  # the table, row after row: 8 bytes a number
    with _opened(file) as opened, progress.step(f"looking through {file.name}", file.stat().st_size, "B") as done:
        start = reported = 0
        for document in decode_file_iter(opened):
            end = opened.tell()
            rows.extend([start, end])
            for name in names:
                value = document.get(name)
                if not isinstance(value, int) or isinstance(value, bool):
                    raise PreparationError(f"{file}: the document at byte {start:,} has no integer {name}")
                rows.append(value)
            start = end
            if len(rows) % (_STEP * len(columns)) == 0:
                done(start - reported)
                reported = start
    table = np.frombuffer(rows, dtype=np.int64).reshape(-1, len(columns))
    return pd.DataFrame(table, columns=columns)


def copy_documents(source: Path, target: Path, documents: pd.DataFrame) -> None:
    """Write the documents of `source` that stand in `documents`, rows of `find_integers`, in their order."""
    with _opened(source) as opened, target.open("wb") as output:
        output.writelines(_read(opened, documents))


def copy_documents_without(source: Path, target: Path, documents: pd.DataFrame, name: str) -> None:
    """Write the documents as `copy_documents`, but without their element `name`."""
    from bson import CodecOptions, encode
    from bson.raw_bson import RawBSONDocument

    raw = CodecOptions(document_class=RawBSONDocument)
    with _opened(source) as opened, target.open("wb") as output:
        for content in _read(opened, documents):
            fields = RawBSONDocument(content, raw).items()
            # Encoded one by one, without the length before and the zero behind: a whole document begins with `_id`.
            kept = b"".join(encode({field: value})[4:-1] for field, value in fields if field != name)
            output.write(struct.pack("<i", len(kept) + 5) + kept + b"\0")


def _read(opened: BinaryIO, documents: pd.DataFrame) -> Iterator[bytes]:
    for start, end in documents[["start", "end"]].to_numpy().tolist():
        opened.seek(start)
        yield opened.read(end - start)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """The opened `file`. Raises PreparationError that names it if it can't be read, or damage was found meanwhile."""
    from bson.errors import BSONError

    try:
        with file.open("rb") as opened:
            try:
                yield opened
            except BSONError as error:
                place = f"{opened.tell():,}"
                raise PreparationError(f"{file} is damaged before byte {place} or no BSON file: {error}") from error
    except OSError as error:
        raise PreparationError(f"{file} can't be read: {error}") from error
