"""Whether public files beside the training table could tell the labels of some of its rows.

Nobody can prove that a file tells nothing, so the question is turned round. A file is harmless if it is one of those
that every test row has too, under a name of the same form; if it belongs to another training row; if it is a table
like one of the test's, or one that has the test rows as well; or if it doesn't speak of the rows at all. Everything
else is named, and then nothing is held back. What stands inside of pictures and recordings is not looked at.
"""

from __future__ import annotations

import mmap
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from mlebench.preparation.files import walk
from mlebench.tables import read_csv

MEDIA = frozenset(
    {
        *(".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".dcm", ".dicom", ".nii", ".svs"),
        *(".wav", ".flac", ".aif", ".aiff", ".mp3", ".ogg", ".mp4", ".avi"),
    }
)
CONTAINERS = frozenset(  # of many rows, and not read here
    {
        *(".tfrec", ".tfrecord", ".tfrecords", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".7z", ".rar", ".bson"),
        *(".parquet", ".feather", ".arrow", ".npy", ".npz", ".h5", ".hdf5", ".pkl", ".pickle", ".mat"),
        *(".sqlite", ".db", ".zarr"),
    }
)
SUFFIXES = MEDIA | CONTAINERS | {".csv", ".json", ".txt"}
SEARCHED_IDS = 100


@dataclass(frozen=True)
class Rows:
    """The ids, as text, of the training rows to be held back, of those that stay, and of the test rows."""

    held_back: pd.Series
    kept: pd.Series
    test: pd.Series

    @property
    def id(self) -> str:
        """The name of the column."""
        return str(self.held_back.name)


def find_other_labels(public: Path, table: Path, harmless: Collection[Path], keys: Collection[str], rows: Rows) -> str:
    """The first reason why labels of the rows held back might be told by files other than `table`; "" if none is.

    `harmless` are files that tell nothing: the description, the sample submission, the test table. `keys` are the
    columns of the training table but for those that are asked for.
    """
    paths = [path for path in walk(public) if path != table and path not in harmless]
    if not paths:
        return ""
    names = {path: list(_names(path, public)) for path in paths}
    held_back, kept, test = (_stems(ids) for ids in (rows.held_back, rows.kept, rows.test))
    of_test = {name: form for listed in names.values() for name in listed if (form := _form(name, test))}
    forms = set(of_test.values())
    places = {_place(name) for listed in names.values() for name in listed if _is_of_test(name) or name in of_test}
    for path in paths:
        for name in names[path]:
            form = _form(name, held_back)
            if form and form not in forms:
                return f"{name} belongs to a training row, and no test row has a file of that form"
            if form or name in of_test or _form(name, kept):
                continue
            if reason := _reason(path, name, public, keys, places, rows):
                return reason
    return ""


def _stems(ids: pd.Series) -> set[str]:
    """Ids without what looks like a file's suffix."""
    return {_stem(value) for value in ids.astype(str)}


def _stem(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return stem if dot + suffix.lower() in SUFFIXES else name


def _names(path: Path, public: Path) -> Iterator[str]:
    """The path below `public`; of a zip archive those of its members, as `archive.zip/member`."""
    name = path.relative_to(public).as_posix()
    if path.suffix.lower() != ".zip":
        yield name
        return
    with zipfile.ZipFile(path) as archive:
        yield from (f"{name}/{member.filename}" for member in archive.infolist() if not member.is_dir())


def _form(name: str, ids: Collection[str]) -> str:
    """The name with the row's id as `*` and `train` as `test`; "" if it names none of the ids.

    Folders named by the first letters of an id, one each, are `?`; numbers within a row's own folder are `#`.
    """
    parts = name.split("/")
    for place, part in enumerate(parts):
        found = next((stem for stem in _beginnings(part) if stem in ids), "")
        if found:
            above = [_as_test(folder) for folder in _without_letters(parts[:place], found)]
            below = [re.sub(r"\d+", "#", each) for each in parts[place + 1 :]]
            return "/".join([*above, part.replace(found, "*", 1), *below])
    return ""


def _beginnings(part: str) -> Iterator[str]:
    """The whole name, then what stands before each of its dots, underscores and hyphens."""
    yield part
    yield from (part[:place] for place in range(len(part) - 1, 0, -1) if part[place] in "._-")


def _without_letters(folders: list[str], row_id: str) -> list[str]:
    letters = iter(row_id)
    return ["?" if len(folder) == 1 and folder == next(letters, "") else folder for folder in folders]


def _as_test(part: str) -> str:
    return part.lower().replace("train", "test")


def _is_of_test(name: str) -> bool:
    return any(part.lower().startswith("test") for part in name.split("/"))


def _place(name: str) -> tuple[str, str]:
    """The folder, with `train` as `test`, and the kind of a file."""
    path = PurePosixPath(name)
    return _as_test(path.parent.as_posix()), path.suffix.lower()


def _reason(
    path: Path,
    name: str,
    public: Path,
    keys: Collection[str],
    places: Collection[tuple[str, str]],
    rows: Rows,
) -> str:
    """Why a file that is named after no row might speak of those held back; "" if it doesn't."""
    kind = PurePosixPath(name).suffix.lower()
    if kind in MEDIA:
        return "" if _place(name) in places else f"{name} has no counterpart among the test's"
    if kind in CONTAINERS or path.suffix.lower() == ".zip":
        return "" if _is_of_test(name) else f"{name} holds many rows in a form that is not looked into"
    if kind == ".csv":
        return "" if _is_like_a_table_of_test(path, public) else _reason_of_table(path, name, keys, rows)
    return f"{name} speaks of the same rows" if _speaks_of(path, rows.held_back) else ""


def _reason_of_table(path: Path, name: str, keys: Collection[str], rows: Rows) -> str:
    header = list(read_csv(path, nrows=0, index_col=False).columns)
    if rows.id in header:
        ids = read_csv(path, dtype=str, keep_default_na=False, na_filter=False)[rows.id]
        if rows.test.isin(ids).all():  # it says of training rows what it says of test rows
            return ""
        if ids.isin(rows.held_back).any():
            return f"{name} has rows with the same {rows.id}"
    shared = [column for column in header if column in keys and column != rows.id]
    if shared and not _is_of_test(name):
        return f"{name} has the column {shared[0]}, as the training table has"
    numbers = rows.held_back.str.fullmatch(r"\d+").all()  # which stand everywhere
    return f"{name} speaks of the same rows" if not numbers and _speaks_of(path, rows.held_back) else ""


def _is_like_a_table_of_test(path: Path, public: Path) -> bool:
    """Whether the test has a table of the same name, but for `train`, with the same columns."""
    name = path.relative_to(public).as_posix()
    other = public / _as_test(name)
    if _is_of_test(name) or not other.is_file() or other == path:
        return False
    return list(read_csv(path, nrows=0).columns) == list(read_csv(other, nrows=0).columns)


def _speaks_of(path: Path, rows: pd.Series) -> bool:
    """Whether any of a hundred ids, taken evenly, stands in a file."""
    if path.stat().st_size == 0:
        return False
    step = max(1, len(rows) // SEARCHED_IDS)
    wanted: Iterable[str] = rows.iloc[::step]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(row_id.encode()) >= 0 for row_id in wanted)
