"""Packing files into zips, and reading single members without unpacking to disk."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives.members import refused
from mlebench.preparation.archives.zips import refusal


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
    with progress.step(f"packing {archive.name}", len(pairs), "files") as done, zipfile.ZipFile(archive, "w") as opened:
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
            with progress.step(f"packing {target.name}", len(wanted), "files") as done:
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
            if reason := refusal(opened.getinfo(name)):
                raise refused(Path(archive.name), name, reason)
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
