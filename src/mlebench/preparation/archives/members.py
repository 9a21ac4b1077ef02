"""What members of archives may be: where each belongs below a folder, and which are refused before anything is written.

The same for all kinds of archives. A member is refused that would land outside the folder, that is no plain file or
folder, whose name no file can have, or that shares its place with another.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mlebench.errors import PreparationError

_LONGEST_NAME, _LONGEST_PATH = 255, 4096  # bytes, on the file systems in use
_DRIVE = re.compile(r"[A-Za-z]:")
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Member(NamedTuple):
    """A file or folder in an archive."""

    name: str
    size: int  # bytes, unpacked
    is_folder: bool = False
    refusal: str = ""  # what is wrong with it by its format, such as "is a link"


def refused(archive: Path, name: str, reason: str) -> PreparationError:
    """The error that names archive, member and reason."""
    return PreparationError(f"{archive}: the member {name!r} {reason}")


def leads_outside(name: str) -> bool:
    """Whether a member of this name would be written outside the folder that it is extracted into."""
    slashed = name.replace("\\", "/")
    return slashed.startswith("/") or ".." in slashed.split("/") or _DRIVE.match(name) is not None


def is_junk(name: str) -> bool:
    """Whether a member is only what macOS adds to archives."""
    return name.startswith("__MACOSX/")


def place(archive: Path, members: Sequence[Member], folder: Path) -> list[str]:
    """The path of each member below `folder`. Writes nothing; raises PreparationError for the first that is refused.

    Two members at one path are refused, in the spelling of the file system: where it takes `A` and `a` for the same
    name, both can't be there.
    """
    paths = [_path(archive, member, folder) for member in members]
    _require_own_places(archive, members, paths, lambda path: path)
    if len({_folded(path) for path in paths}) < len(set(paths)) and _folds_case(folder):
        _require_own_places(archive, members, paths, _folded)
    return paths


def require_room(archive: Path, folder: Path, needed: int, files: int) -> None:
    """Make `folder`. Raises PreparationError if its file system has no room for so many bytes and files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PreparationError(f"{archive} can't be unpacked into {folder}: {error.strerror}") from error
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise PreparationError(f"{archive} unpacks to {needed:,} bytes, {folder} has {free:,} free")
    places = os.statvfs(folder)
    if places.f_files > 0 and files > places.f_favail:
        raise PreparationError(f"{archive} unpacks to {files:,} files, {folder} has room for {places.f_favail:,}")


def make_folders(archive: Path, folder: Path, paths: Iterable[str]) -> None:
    """Make the folders `paths` below `folder`, and those around them. Raises PreparationError where no folder can be.

    A link that was there before is no folder: what is behind it is not ours.
    """
    whole = {str(parent) for path in paths for parent in (PurePosixPath(path), *PurePosixPath(path).parents)}
    for path in sorted(whole - {".", ""}):
        made = folder / path
        try:
            made.mkdir()
        except FileExistsError:
            if made.is_symlink() or not made.is_dir():
                raise refused(archive, path, f"is a folder, where {folder} has something else") from None
        except OSError as error:
            raise refused(archive, path, f"can't be made in {folder}: {error.strerror}") from error


def make_way(archive: Path, path: str, target: Path | str) -> None:
    """Remove the file or link `target`, if there is one: never written to, as it may be a link to something else."""
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        raise refused(archive, path, "is a file, where a folder stands already")
    Path(target).unlink()


def parents_of(members: Sequence[Member], paths: Sequence[str]) -> set[str]:
    """The folders that members are or lie in."""
    return {
        path if member.is_folder else path.rpartition("/")[0] for member, path in zip(members, paths, strict=True)
    } - {""}


def _path(archive: Path, member: Member, folder: Path) -> str:
    name = member.name
    if reason := member.refusal or _refused_name(name):
        raise refused(archive, name, reason)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    path = "/".join(parts)
    try:
        longest = max((len(part.encode()) for part in parts), default=0)
    except UnicodeEncodeError:
        raise refused(archive, name, "has a name that no file can have") from None
    if longest > _LONGEST_NAME or len(f"{folder}/{path}".encode(errors="replace")) >= _LONGEST_PATH:
        raise refused(archive, name, "has a name that is too long")
    if not parts and not member.is_folder:
        raise refused(archive, name, "has no name")
    return path


def _refused_name(name: str) -> str:
    if "\0" in name:
        return "has a name with a NUL in it"
    return "would be written outside the folder" if leads_outside(name) else ""


def _require_own_places(
    archive: Path, members: Sequence[Member], paths: Sequence[str], spelling: Callable[[str], str]
) -> None:
    files: dict[str, str] = {}
    folders: set[str] = set()
    for member, path in zip(members, map(spelling, paths), strict=True):
        if not member.is_folder:
            if path in files:
                raise refused(archive, member.name, f"has the place of another, {files[path]!r}")
            files[path] = member.name
        parent = path if member.is_folder else path.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    for path in files.keys() & folders:
        raise refused(archive, files[path], "is a file where others need a folder")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _folds_case(folder: Path) -> bool:
    """Whether the file system of `folder`, which need not exist, takes large and small letters for the same."""
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    with tempfile.NamedTemporaryFile(prefix=".CASE-", dir=there) as probe:
        path = Path(probe.name)
        return path.with_name(path.name.lower()).exists()
