"""Lay out what is packed: archives as folders, JSON and BSON documents as tables."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import py7zr

from . import documents
from .clock import Clock

TABLE_INSIDE = (".csv.zip", ".tsv.zip")  # read where they are
ARCHIVES = (".zip", ".7z", ".tar", ".tar.gz", ".tgz")
FREE_SHARE = 0.5  # of the disk that may be filled


def lay_out(data: Path, folder: Path, clock: Clock) -> None:
    """Unpack the archives of `data` and write its documents as tables, both into `folder`.

    What is damaged, what would take too long and what would fill the disk is left out.
    """
    there = {(path.name, path.stat().st_size) for path in walk(data)}
    for path in walk(data):
        if clock.left() <= 0:
            return
        if path.name.lower().endswith(ARCHIVES) and not path.name.lower().endswith(TABLE_INSIDE):
            attempt(unpack, path, folder / path.relative_to(data).parent / stem(path), there)
    for root in (data, folder):
        for path in few_documents(root):
            if clock.left() <= 0:
                return
            attempt(documents.write_tables, path, folder / path.relative_to(root).parent)


def attempt(function, path: Path, *more: object) -> None:  # noqa: ANN001 (unpack or write_tables)
    """Call the function; what goes wrong with one file must not cost the others."""
    try:
        function(path, *more)
    except Exception as error:
        print(f"  {path.name} could not be laid out: {error!r}"[:300], flush=True)


def walk(root: Path) -> list[Path]:
    """All files below a folder."""
    return [Path(folder, name) for folder, _, names in sorted(os.walk(root)) for name in sorted(names)]


def stem(path: Path) -> str:
    """The name of an archive without its endings."""
    name = path.name
    for ending in sorted(ARCHIVES, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def few_documents(root: Path) -> list[Path]:
    """The documents of a folder; those of which there are many, one for each row say, are no tables."""
    found = [path for path in walk(root) if path.suffix.lower() in documents.SUFFIXES]
    beside: dict[Path, int] = {}
    for path in found:
        beside[path.parent] = beside.get(path.parent, 0) + 1
    return [path for path in found if beside[path.parent] <= documents.MOST_IN_A_FOLDER]


def unpack(archive: Path, folder: Path, there: set[tuple[str, int]]) -> None:
    """Unpack an archive, but for the files that stand among the public ones already."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if archive.stat().st_size > FREE_SHARE * free:
        raise ValueError("too little disk")
    if archive.suffix == ".7z":
        with py7zr.SevenZipFile(archive) as opened:
            if sum(member.uncompressed for member in opened.files) > FREE_SHARE * free:
                raise ValueError("too little disk")
            opened.extractall(folder)
    elif archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            wanted = [m for m in opened.infolist() if (Path(m.filename).name, m.file_size) not in there]
            if sum(member.file_size for member in wanted) > FREE_SHARE * free:
                raise ValueError("too little disk")
            opened.extractall(folder, wanted)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
