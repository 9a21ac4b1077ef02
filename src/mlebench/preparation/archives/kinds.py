"""Which kind of archive a file is, by its content: names lie."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Literal, cast

from mlebench.errors import PreparationError

Kind = Literal["zip", "7z", "tar", "gzip", "bzip2", "xz"]

_SIGNATURES: dict[bytes, Kind] = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # without members
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
_KNOWN_BY_NAME_ONLY = {b"Rar!": "a RAR archive", b"\x28\xb5\x2f\xfd": "compressed by zstd"}
_SUFFIXES: dict[str, Kind] = {
    ".zip": "zip",
    ".7z": "7z",
    ".tar": "tar",
    ".gz": "gzip",
    ".tgz": "gzip",
    ".bz2": "bzip2",
    ".tbz2": "bzip2",
    ".xz": "xz",
    ".txz": "xz",
}
_BLOCK = 512  # bytes of a header of tar

# What is read from front to back, from an opened file; and what damaged content raises.
Opener = Callable[[IO[bytes]], IO[bytes]]
STREAMS: dict[Kind, Opener] = {
    "tar": lambda file: file,
    "gzip": cast("Opener", gzip.open),
    "bzip2": cast("Opener", bz2.open),
    "xz": cast("Opener", lzma.open),
}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, OSError, ValueError)


def kind_of(archive: Path) -> Kind:
    """The kind of archive. Raises PreparationError for a file that is none, or of a kind that is not unpacked."""
    try:
        with archive.open("rb") as file:
            start = file.read(_BLOCK)
    except OSError as error:
        raise PreparationError(f"{archive} can't be read: {error.strerror}") from error
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    if _is_tar_header(start):
        return "tar"
    if zipfile.is_zipfile(archive):  # behind something else, such as a program that unpacks it
        return "zip"
    for signature, text in _KNOWN_BY_NAME_ONLY.items():
        if start.startswith(signature):
            raise PreparationError(f"{archive} is {text}, which is not unpacked here")
    raise PreparationError(f"{archive} is no archive that is known here (zip, 7z, tar, gz, bz2, xz)")


def holds_tar(archive: Path, kind: Kind) -> bool:
    """Whether the content is a tar archive, packed or not. Damage further on is not noticed."""
    if kind not in STREAMS:
        return False
    try:
        with archive.open("rb") as file, STREAMS[kind](file) as stream:
            return _is_tar_header(stream.read(_BLOCK))
    except DAMAGE:
        return False


def misnamed(archive: Path, kind: Kind) -> str:
    """` (a gzip archive by its content)` if the name promises another kind, else an empty text."""
    promised = _SUFFIXES.get(archive.suffix.lower(), kind)
    return "" if promised == kind else f" (a {kind} archive by its content)"


def _is_tar_header(block: bytes) -> bool:
    if len(block) < _BLOCK or not block.strip(b"\0"):
        return False
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True
