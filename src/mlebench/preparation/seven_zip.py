"""Archives of the 7z format, unpacked and written by py7zr."""

from __future__ import annotations

import io
import lzma
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import leads_outside

if TYPE_CHECKING:
    from py7zr import SevenZipFile

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
_IS_UNIX = 0x8000  # the upper half of the attributes is a Unix mode
_READABLE = (stat.S_IFREG | 0o644) << 16 | _IS_UNIX | stat.FILE_ATTRIBUTE_ARCHIVE


def un7zip(archive: Path, folder: Path) -> None:
    """Extract `archive` into `folder`.

    Raises PreparationError for a damaged archive or an unsupported method, and before anything is written for an
    encrypted archive, a member that would land outside the folder, a link, or too little disk.
    """
    from py7zr import PasswordRequired, SevenZipFile, UnsupportedCompressionMethodError

    size = archive.stat().st_size if archive.is_file() else 0
    try:
        with (
            progress.step(f"unpacking {archive.name}", size) as done,
            _Watched(archive, done) as opened,
            SevenZipFile(opened) as members,
        ):
            _refuse(archive, members, folder)
            members.extractall(folder)
            _set_rights(members, folder)
    except PreparationError:
        raise
    except PasswordRequired as error:
        raise PreparationError(f"{archive} is encrypted") from error
    except UnsupportedCompressionMethodError as error:
        raise PreparationError(f"{archive} is packed with an unsupported method: {error.message}") from error
    except Exception as error:  # what py7zr raises for damage is of any kind: assertions, wrong places, wrong types
        raise PreparationError(f"{archive} is no readable 7z archive: {error!r}") from error


def write_7z(archive: Path, members: Iterable[tuple[str, BinaryIO]]) -> None:
    """Write a 7z archive of `members`, each a name and an opened file that is read to its end; one LZMA2 block.

    The bytes depend on names and contents alone, not on the clock. Makes the parent folders.
    """
    from py7zr import SevenZipFile
    from py7zr.helpers import ArchiveTimestamp

    archive.parent.mkdir(parents=True, exist_ok=True)
    with SevenZipFile(archive, "w", filters=_FILTERS) as opened:
        for name, source in members:
            opened.writef(source, name)
        for member in opened.files:
            member.file_properties().update(lastwritetime=ArchiveTimestamp.from_datetime(0), attributes=_READABLE)


class _Watched(io.BufferedReader):
    """An opened file that tells how many of its bytes were read."""

    def __init__(self, path: Path, done: progress.Step) -> None:
        super().__init__(io.FileIO(path))
        self._done = done

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        self._done(len(content))
        return content


def _refuse(archive: Path, members: SevenZipFile, folder: Path) -> None:
    if members.needs_password():
        raise PreparationError(f"{archive} is encrypted")
    for member in members.files:
        if leads_outside(member.filename):
            raise PreparationError(f"{archive}: the member {member.filename!r} would be written outside the folder")
        if member.is_symlink or member.is_junction:
            raise PreparationError(f"{archive}: the member {member.filename!r} is a link")
    needed = sum(member.uncompressed for member in members.files)
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise PreparationError(f"{archive} unpacks to {needed:,} bytes, {folder} has {free:,} free")


def _set_rights(members: SevenZipFile, folder: Path) -> None:
    """Let everybody read what was extracted, whatever rights the archive gave: agents run as another user."""
    for member in sorted(members.files, key=lambda member: member.filename):
        (folder / member.filename).chmod(0o755 if member.is_directory else 0o644)
