"""What is packed as one stream: tar archives, and single files packed by gzip, bzip2 or xz.

There are no checksums of members, so what an interrupted call left is never trusted but written anew.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tarfile import EOFHeaderError, HeaderError, TarFile, TarInfo  # pyright: ignore[reportAttributeAccessIssue]
from typing import IO, cast

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives.kinds import DAMAGE, STREAMS, Kind, misnamed
from mlebench.preparation.archives.members import (
    NEW_FILE,
    Member,
    is_junk,
    make_folders,
    make_way,
    parents_of,
    place,
    refused,
    require_room,
)
from mlebench.preparation.archives.watched import Watched

_CHUNK = 1 << 20


def untar(archive: Path, folder: Path, kind: Kind) -> None:
    """Extract a tar archive, packed by `kind` or not, into `folder`.

    It is read twice: the first time to see that all of it may be unpacked and can be read, before anything is
    written. Raises PreparationError for a damaged archive, a member that would land outside the folder, a link, a
    device, two members at one place, or too little disk. Without gzip, bzip2 or xz around it, a tar archive has
    checksums of names and sizes only.
    """
    text = f"{archive.name}{misnamed(archive, kind)}"
    packed = archive.stat().st_size
    with progress.step(f"checking {text}", packed, "B") as done, _damage_named(archive):
        members = [_member(info) for info, _ in _entries(archive, kind, done)]
    paths = place(archive, members, folder)
    require_room(archive, folder, sum(member.size for member in members), len(members))
    make_folders(archive, folder, parents_of(members, paths))
    with progress.step(f"unpacking {text}", packed, "B") as done, _damage_named(archive):
        for (_, content), member, path in zip(_entries(archive, kind, done), members, paths, strict=True):
            if content is not None:
                make_way(archive, path, folder / path)
                _write(archive, member.name, content, folder / path, member.size)


def unpack_single(archive: Path, folder: Path, kind: Kind) -> None:
    """Unpack the one file that is packed by gzip, bzip2 or xz; it gets the archive's name without the suffix.

    How large it is shows at its end: it must fit into the free space. Raises PreparationError.
    """
    name = archive.stem if archive.suffix.lower() in (".gz", ".bz2", ".xz") else archive.name
    target, partial = folder / name, folder / f".{name}.partial"
    require_room(archive, folder, 0, 1)
    for path in (partial, target):
        make_way(archive, name, path)
    free = shutil.disk_usage(folder).free
    text = f"unpacking {archive.name}{misnamed(archive, kind)}"
    with (
        progress.step(text, archive.stat().st_size, "B") as done,
        _damage_named(archive),
        Watched(archive, done) as packed,
        STREAMS[kind](cast("IO[bytes]", packed)) as content,
    ):
        _write(archive, name, content, partial, free, is_exact=False)
    partial.rename(target)


class _Strict(TarInfo):
    """A header; one that can't be read is damage, not the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: TarFile) -> _Strict:
        try:
            return cast("_Strict", super().fromtarfile(tarfile))
        except EOFHeaderError:  # zeros: the true end
            raise
        except HeaderError as error:
            raise ValueError(f"header at byte {tarfile.offset:,}: {error}") from error


def _entries(archive: Path, kind: Kind, done: progress.Step) -> Iterator[tuple[TarInfo, IO[bytes] | None]]:
    """Each member with its content, None for a folder; read to the end, where the packer's checksum is compared."""
    with Watched(archive, done) as packed, STREAMS[kind](cast("IO[bytes]", packed)) as stream:
        with TarFile.open(fileobj=stream, mode="r|", tarinfo=_Strict, encoding="utf-8") as opened:
            for info in opened:
                if not is_junk(info.name):
                    yield info, opened.extractfile(info) if info.isreg() else None
        while stream.read(_CHUNK):
            pass


def _member(info: TarInfo) -> Member:
    return Member(_name(info.name), info.size if info.isreg() else 0, info.isdir(), _refusal(info))


def _name(name: str) -> str:
    """The name; where its bytes are no UTF-8, they are read as Latin-1."""
    try:
        name.encode()
    except UnicodeEncodeError:
        with suppress(UnicodeEncodeError):
            return name.encode("utf-8", "surrogateescape").decode("latin-1")
    return name


def _refusal(info: TarInfo) -> str:
    if info.issym() or info.islnk():
        return f"is a link to {info.linkname!r}"
    return "" if info.isreg() or info.isdir() else "is neither a file nor a folder"


def _write(archive: Path, name: str, content: IO[bytes], target: Path, most: int, *, is_exact: bool = True) -> None:
    """Write `content`, at most `most` bytes; nothing is left if it is damaged."""
    written = 0
    try:
        with os.fdopen(os.open(target, NEW_FILE, 0o666), "wb") as file:
            while chunk := content.read(_CHUNK):
                written += len(chunk)
                if written > most:
                    raise refused(archive, name, f"unpacks to more than {most:,} bytes")
                file.write(chunk)
        if is_exact and written != most:
            raise refused(archive, name, f"is damaged: it has {written:,} bytes of {most:,}")
    except BaseException:
        target.unlink(missing_ok=True)
        raise


@contextmanager
def _damage_named(archive: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise PreparationError(f"{archive} is damaged or can't be unpacked: {error}") from error
