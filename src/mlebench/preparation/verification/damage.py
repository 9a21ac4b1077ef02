"""What may have happened to a file that is not what it was: guessed from evidence, and said as a guess."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mlebench.preparation.verification.hashing import Digest, blocks

Kind = Literal[
    "missing",  # no such file
    "unpacked",  # an archive that is gone, its members beside it
    "unreadable",
    "empty",
    "cut",  # shorter
    "zeros",  # filled up with zero bytes
    "line ends",  # the same lines, other line breaks
    "rewritten",  # the same table in other bytes: no failure
    "edited",  # written to after the preparation
    "decayed",  # other bytes though nobody wrote
    "changed",
    "extra",  # nobody prepared it
    "replaced",  # another zip than the one that was used: no failure
    "archive",  # not the published zip
    "follows",  # not the published file, as the zip is not either
    "preparation",  # not the published file, though the zip is
    "writer",  # other bytes than the published ones, by another writer: no failure
    "published",  # not the published file, for reasons unknown
]

_TEXTS = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".md"}
_TAIL = 4096
_OF_THE_SYSTEM = {
    ".DS_Store": "macOS's file manager leaves it",
    "Thumbs.db": "Windows's file manager leaves it",
    "desktop.ini": "Windows's file manager leaves it",
    "public.tar": "some agent frameworks pack the public files here",
}


class Expected(NamedTuple):
    """What the manifest says of a file."""

    size: int
    blake3: str
    table: str = ""  # the hash of its table, if it is a Parquet file that was written by the preparation


@dataclass(frozen=True)
class Cause:
    """What happened, in a word and in a sentence."""

    kind: Kind
    hint: str


def cause(path: Path, expected: Expected, found: Digest | OSError, written: float | None) -> Cause:
    """Why `path` is not as expected; `written` is when the manifest was, None if times tell nothing.

    The file is read again where its content may tell more.
    """
    if isinstance(found, OSError):
        return _unreadable(path, found)
    try:
        return _cause_of_change(path, expected, found, written)
    except OSError as error:  # it could be read a moment ago
        return _unreadable(path, error)


def _cause_of_change(path: Path, expected: Expected, found: Digest, written: float | None) -> Cause:
    if path.suffix == ".parquet" and expected.table and expected.table == _table_hash(path):
        return Cause("rewritten", f"same rows, other bytes: written anew by {_writer(path)}")
    if found.size == 0:
        return Cause("empty", "the disk was full, or a copy or extraction was interrupted when it began")
    if _ends_in_zeros(path):
        return Cause("zeros", "it ends in zero bytes: the machine stopped before the disk had it all")
    if path.suffix in _TEXTS and (what := _changed_line_breaks(path, expected.blake3)):
        return Cause("line ends", what)
    if written is not None and path.stat().st_mtime > written:
        return _edited(path, expected, found)
    if found.size < expected.size:
        return Cause("cut", "an interrupted copy or extraction, or a full disk")
    if found.size > expected.size:
        return Cause("changed", "it grew, though its time is that of the preparation: replaced by another file")
    if written is None:
        return Cause("changed", "edited, replaced by another file, or damaged when it was copied here")
    return Cause("decayed", "same size, and not written since it was prepared: the disk or its cable may be failing")


def _edited(path: Path, expected: Expected, found: Digest) -> Cause:
    if path.suffix == ".parquet":
        rows = "with other rows" if expected.table else "maybe with the same rows: it was not made here"
        return Cause("edited", f"written after the preparation, by {_writer(path)}, {rows}")
    others = ", or a copy onto it was interrupted" if found.size < expected.size else ""
    return Cause("edited", f"written after the preparation, on {_day(path)}: some program edited it{others}")


def cause_of_missing(path: Path) -> Cause:
    """Why there is no file at `path`."""
    if path.suffix == ".zip" and (path.with_suffix("").is_dir() or _is_unpacked_beside(path)):
        return Cause("unpacked", "some program unpacked the archive in place and removed it")
    if not path.parent.exists():
        return Cause("missing", f"the whole folder {path.parent.name} is gone: deleted, or not copied along")
    return Cause("missing", "deleted, or not copied along")


def cause_of_extra(path: Path) -> Cause:
    """Why there is a file that nobody prepared."""
    reason = _OF_THE_SYSTEM.get(path.name)
    if path.name.startswith(".nfs"):
        reason = "a network file system keeps it while a program has a deleted file open"
    elif path.name.startswith("."):
        reason = reason or "a temporary file of some program"
    return Cause("extra", reason or "some program wrote it here; agents would see it if it is in public")


def _unreadable(path: Path, error: OSError) -> Cause:
    if isinstance(error, FileNotFoundError):
        return cause_of_missing(path)
    advice = "its rights were changed" if isinstance(error, PermissionError) else "the disk may be failing"
    return Cause("unreadable", f"{error.strerror or error}: {advice}")


def _is_unpacked_beside(archive: Path) -> bool:
    """Whether a folder or file of the archive's name stands there: train.zip -> train/, train.csv."""
    return any(each != archive for each in archive.parent.glob(f"{archive.stem}.*"))


def _table_hash(path: Path) -> str:
    from pyarrow import ArrowException

    from mlebench.preparation.verification.parquet_rows import table_hash

    try:
        return table_hash(path)
    except (ArrowException, OSError):
        return ""


def _writer(path: Path) -> str:
    from mlebench.preparation.verification.parquet_rows import written_by

    return written_by(path) or "an unknown program"


def _day(path: Path) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}"


def _ends_in_zeros(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        return not any(file.read())


def _changed_line_breaks(path: Path, expected: str) -> str:
    """What was done to the line breaks if the file is as expected but for them; else nothing."""
    plain, marked = _Ending(b"\n"), _Ending(b"\r\n")
    had_returns = False
    held = b""
    for block in blocks(path):
        content = held + bytes(block)
        held = b"\r" if content.endswith(b"\r") else b""
        content = content[: len(content) - len(held)]
        had_returns |= b"\r\n" in content
        lines = content.replace(b"\r\n", b"\n")
        plain.feed(lines)
        marked.feed(lines.replace(b"\n", b"\r\n"))
    if held:
        return ""
    as_found, other = (marked, plain) if had_returns else (plain, marked)
    if expected in as_found.hashes():
        return "only the line break at its end is another: an editor did that"
    if expected in other.hashes():
        change = "LF to CR LF" if had_returns else "CR LF to LF"
        return f"only its line breaks were changed, from {change}: an editor or git did that"
    return ""


class _Ending:
    """Hashes of lines with and without a line break at their end."""

    def __init__(self, line_break: bytes) -> None:
        from blake3 import blake3

        self._line_break = line_break
        self._hash: Any = blake3()
        self._is_held = False  # a line break that may be the last

    def feed(self, content: bytes) -> None:
        if not content:
            return
        if self._is_held:
            self._hash.update(self._line_break)
        self._is_held = content.endswith(self._line_break)
        self._hash.update(content[: len(content) - len(self._line_break)] if self._is_held else content)

    def hashes(self) -> tuple[str, str]:
        whole = self._hash.copy()
        whole.update(self._line_break)
        return self._hash.hexdigest(), whole.hexdigest()
