"""Unpacking archives in parallel, and refusing what must not be unpacked; packing files."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from mlebench.errors import PreparationError
from mlebench.preparation import progress

_SUPPORTED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def unzip(archive: Path, folder: Path) -> None:
    """Extract `archive` into `folder`, members in parallel.

    Raises PreparationError, before anything is written, for a damaged archive, a member that would land
    outside the folder, a link, an encrypted or unsupported member, or too little disk.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if not _is_junk(member)]
    except (OSError, zipfile.BadZipFile) as error:
        raise PreparationError(f"{archive} is no readable zip archive: {error}") from error
    for member in members:
        if reason := _refused(member):
            raise PreparationError(f"{archive}: the member {member.filename!r} {reason}")
    needed = sum(member.file_size for member in members)
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise PreparationError(f"{archive} unpacks to {needed:,} bytes, {folder} has {free:,} free")
    files = [member for member in members if not member.is_dir()]
    for member in members:
        target = folder / member.filename
        (target if member.is_dir() else target.parent).mkdir(parents=True, exist_ok=True)
    workers = min(os.cpu_count() or 1, 16, max(1, len(files)))
    with progress.step(f"unpacking {archive.name}", needed) as done, ThreadPoolExecutor(workers) as pool:
        for size in pool.map(lambda share: _extract(archive, share, folder), _shares(files, workers)):
            for amount in size:
                done(amount)


def zip_files(files: Iterable[tuple[Path, str]], archive: Path) -> None:
    """Pack each pair (file, name of the member) into the new zip `archive`, deflated, in this order.

    The bytes depend on names and contents alone, not on the clock. Makes the parent folders. Raises
    PreparationError that names the first missing files.
    """
    pairs = list(files)
    missing = [file for file, _ in pairs if not file.is_file()]
    if missing:
        shown = ", ".join(file.name for file in missing[:3])
        raise PreparationError(f"{len(missing):,} of {len(pairs):,} files for {archive.name} are missing: {shown} …")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with progress.step(f"packing {archive.name}", len(pairs)) as done, zipfile.ZipFile(archive, "w") as opened:
        for file, name in pairs:
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            member.file_size = file.stat().st_size  # tells zipfile whether 32 bits are enough
            with file.open("rb") as source, opened.open(member, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            done()


def repack(archive: Path, names: Iterable[str], target: Path) -> None:
    """Pack the members `names` of the zip `archive` into the new zip `target`, in this order, without unpacking.

    Each keeps its method of compression; the bytes do not depend on the clock. Makes the parent folders. Raises
    PreparationError for a damaged archive, and one that names the first missing members.
    """
    wanted = list(names)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as opened, zipfile.ZipFile(target, "w") as packed:
            missing = sorted(set(wanted) - set(opened.namelist()))
            if missing:
                raise PreparationError(f"{len(missing):,} members are missing in {archive.name}: {missing[0]} …")
            with progress.step(f"packing {target.name}", len(wanted)) as done:
                for name in wanted:
                    given = opened.getinfo(name)
                    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                    member.external_attr = 0o644 << 16
                    member.compress_type = given.compress_type
                    packed.writestr(member, opened.read(given))
                    done()
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise PreparationError(f"{archive} is damaged or can't be read: {error}") from error


@contextmanager
def reading_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """The member `name` of the zip `archive`, to be read from front to back without unpacking it to disk.

    Raises PreparationError if the archive is missing, damaged or has no such member.
    """
    if not archive.is_file():
        raise PreparationError(f"{archive.name} is missing in {archive.parent}")
    try:
        with zipfile.ZipFile(archive) as opened:
            if name not in opened.namelist():
                raise PreparationError(f"{archive.name} holds no {name}")
            if reason := _refused(opened.getinfo(name)):
                raise PreparationError(f"{archive.name}: the member {name!r} {reason}")
            with opened.open(name) as member:
                yield member
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise PreparationError(f"{archive.name} is damaged: {error}") from error


@contextmanager
def writing_member(archive: Path, name: str, *, compress: bool = True) -> Iterator[IO[bytes]]:
    """The only member, `name`, of the new zip `archive`, to be written from front to back; any size.

    The bytes do not depend on the clock. Makes the parent folders.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as opened:
        member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        member.external_attr = 0o644 << 16
        member.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with opened.open(member, "w", force_zip64=True) as target:
            yield target


def _shares(members: list[zipfile.ZipInfo], workers: int) -> Iterator[list[zipfile.ZipInfo]]:
    """Members in runs of about equal bytes: many more runs than workers, so that progress is seen."""
    total = sum(member.compress_size for member in members)
    limit = max(1, total // (workers * 8))
    share: list[zipfile.ZipInfo] = []
    size = 0
    for member in members:
        share.append(member)
        size += member.compress_size
        if size >= limit:
            yield share
            share, size = [], 0
    if share:
        yield share


def _extract(archive: Path, members: list[zipfile.ZipInfo], folder: Path) -> list[int]:
    sizes = []
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in members:
                with opened.open(member) as source, (folder / member.filename).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                sizes.append(member.file_size)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise PreparationError(f"{archive} is damaged: {error}") from error
    return sizes


def _is_junk(member: zipfile.ZipInfo) -> bool:
    return member.filename.startswith("__MACOSX/")


def leads_outside(name: str) -> bool:
    """Whether a member of this name would be written outside the folder that it is extracted into."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]


def _refused(member: zipfile.ZipInfo) -> str:
    if leads_outside(member.filename):
        return "would be written outside the folder"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link"
    if member.flag_bits & 0x1:
        return "is encrypted"
    if member.compress_type not in _SUPPORTED:
        return f"is packed with the unsupported method {member.compress_type}"
    return ""
