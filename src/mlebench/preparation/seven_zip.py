"""Archives of the 7z format, unpacked and written by py7zr."""

from __future__ import annotations

import lzma
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives.kinds import misnamed
from mlebench.preparation.archives.members import Member, make_folders, make_way, parents_of, place, require_room
from mlebench.preparation.archives.watched import Watched

if TYPE_CHECKING:
    from py7zr import SevenZipFile
    from py7zr.py7zr import ArchiveFile

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
            progress.step(f"unpacking {archive.name}{misnamed(archive, '7z')}", size, "B") as done,
            Watched(archive, done) as opened,
            SevenZipFile(opened) as members,
        ):
            paths = _placed(archive, members, folder)
            require_room(archive, folder, sum(member.uncompressed for member in members.files), len(paths))
            make_folders(archive, folder, parents_of([_member(member) for member in members.files], paths))
            if not all(_is_there(folder / path, member) for member, path in zip(members.files, paths, strict=True)):
                for member, path in zip(members.files, paths, strict=True):
                    if not member.is_directory:
                        make_way(archive, path, folder / path)
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


def _placed(archive: Path, members: SevenZipFile, folder: Path) -> list[str]:
    """Where each member belongs. Raises PreparationError for what must not be unpacked."""
    if members.needs_password():
        raise PreparationError(f"{archive} is encrypted")
    return place(archive, [_member(member) for member in members.files], folder)


def _member(member: ArchiveFile) -> Member:
    is_plain = member.is_directory or not (member.is_socket or member.is_symlink or member.is_junction)
    kind = stat.S_IFMT(member.st_fmt or 0)
    refusal = "is a link" if member.is_symlink or member.is_junction else ""
    if not refusal and not (is_plain and kind in (0, stat.S_IFREG, stat.S_IFDIR)):
        refusal = "is neither a file nor a folder"
    return Member(member.filename, member.uncompressed, member.is_directory, refusal)


def _is_there(target: Path, member: ArchiveFile) -> bool:
    """Whether the member was extracted already: size and CRC-32 are right."""
    if member.is_directory:
        return True
    if target.is_symlink() or not target.is_file():
        return False
    if target.stat().st_size != member.uncompressed:
        return False
    crc = 0
    with target.open("rb") as file:
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
    return not member.uncompressed or crc == member.crc32


def _set_rights(members: SevenZipFile, folder: Path) -> None:
    """Let everybody read what was extracted, whatever rights the archive gave: agents run as another user."""
    for member in sorted(members.files, key=lambda member: member.filename):
        (folder / member.filename).chmod(0o755 if member.is_directory else 0o644)
