"""The steps that a competition's `prepare.py` is made of.

Written tables and placed files never change anything in `raw`: archives are unpacked beside it under
`.unpacked`, and public files are links where the file system allows it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import repack, unzip, zip_files
from mlebench.preparation.layout import SCRATCH
from mlebench.preparation.seven_zip import un7zip
from mlebench.tables import read_csv, write_csv

_FICLONE = 0x40049409
_ROWS_OF_A_PART = 200_000
Table = TypeVar("Table", pd.DataFrame, pd.Series)


def unpack(raw: Path, archive: str) -> Path:
    """The folder that holds the members of the zip or 7z archive `raw`/`archive`, unpacked once.

    Raises PreparationError if it is missing or damaged.
    """
    path = raw / archive
    folder = raw / SCRATCH / archive
    if not folder.is_dir():
        if not path.is_file():
            raise PreparationError(f"{archive} is missing in {raw}")
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        (un7zip if path.suffix == ".7z" else unzip)(path, partial)
        partial.rename(folder)
    return folder


def hold_out(table: Table, test_size: float | int, seed: int = 0) -> tuple[Table, Table]:
    """The training rows and the test rows of a random division, both in shuffled order.

    `test_size` below 1 is a share, rounded up, else a number of rows. The same rows in the same order as
    scikit-learn's `train_test_split(table, test_size=..., random_state=seed)`. Raises PreparationError if
    one side would be empty.
    """
    order, count = random_order(len(table), test_size, seed)
    return table.iloc[order[count:]], table.iloc[order[:count]]


def hold_out_groups(
    table: pd.DataFrame, group: str, test_size: float | int, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training rows and the test rows of a random division of the groups, both in the table's order.

    The rows with one value in the column `group` stay together. `test_size` is the share or number of the groups,
    as in `hold_out`. Raises PreparationError if one side would be empty or a row has no group.
    """
    _require_groups(table[group])
    is_test = table[group].isin(hold_out(table[group].drop_duplicates(), test_size, seed)[1])
    return table[~is_test], table[is_test]


def random_order(rows: int, test_size: float | int, seed: int = 0) -> tuple[np.ndarray, int]:
    """The row numbers in shuffled order, those of the test first, and how many these are: what `hold_out` takes."""
    count = int(np.ceil(rows * test_size)) if test_size < 1 else int(test_size)
    if not 0 < count < rows:
        raise PreparationError(
            f"{rows} rows can't be divided into {rows - count} for training and {count} for the test"
        )
    return np.random.RandomState(seed).permutation(rows), count


def random_order_of_groups(groups: pd.Series, test_size: float | int, seed: int = 0) -> tuple[np.ndarray, int]:
    """The row numbers, group by group in shuffled order, those of the test first, and how many rows these are.

    `groups` says which group each row belongs to. What is shuffled and divided is the sorted list of the groups; the
    rows of one keep their order. Raises PreparationError if one side would be empty or a row has no group.
    """
    _require_groups(groups)
    group, names = pd.factorize(groups, sort=True)
    order, count = random_order(len(names), test_size, seed)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    place_of_row = place[group]
    return np.argsort(place_of_row, kind="stable"), int(np.count_nonzero(place_of_row < count))


def _require_groups(groups: pd.Series) -> None:
    if groups.isna().any():
        raise PreparationError(f"{int(groups.isna().sum()):,} rows have no {groups.name}")


def write_rows(table: pd.DataFrame, rows: np.ndarray, path: Path, **options: Any) -> None:
    """Write the rows with the numbers `rows`, part by part, so that no second copy of a large table is made.

    The bytes are those of `write_csv(table.iloc[rows], path, **options)`.
    """
    write_csv(table.iloc[:0], path, **options)
    with path.open("a", encoding="utf-8", newline="") as file:
        for start in range(0, len(rows), _ROWS_OF_A_PART):
            part = table.take(rows[start : start + _ROWS_OF_A_PART])
            part.to_csv(file, index=False, header=False, lineterminator="\n", **options)


def require_unique(ids: pd.Series) -> None:
    """Raise PreparationError that names ids which stand in several rows."""
    repeated = ids[ids.duplicated()]
    if len(repeated):
        shown = ", ".join(map(str, repeated.unique()[:3]))
        raise PreparationError(f"{len(repeated):,} rows repeat the {ids.name} of another row: {shown}")


def one_hot(labels: pd.Series, classes: Sequence[str]) -> pd.DataFrame:
    """A column of 0 and 1 for each class, in the order of `classes`; the index is that of `labels`.

    Raises PreparationError that names labels which are none of the classes.
    """
    unknown = labels[~labels.isin(classes)]
    if len(unknown):
        shown = ", ".join(map(str, unknown.unique()[:3]))
        raise PreparationError(f"{len(unknown):,} labels are none of the {len(classes)} classes: {shown}")
    indicators = labels.to_numpy()[:, None] == np.asarray(classes, dtype=object)
    return pd.DataFrame(indicators.astype(np.int64), index=labels.index, columns=list(classes))


def link_files(files: Iterable[tuple[Path, Path]], text: str = "placing files") -> None:
    """Place the source of each pair (source, target) at its target: reflink, else hard link, else copy; in parallel.

    Raises PreparationError that names the first missing source files.
    """
    pairs = list(files)
    missing = [source for source, _ in pairs if not source.is_file()]
    if missing:
        shown = ", ".join(source.name for source in missing[:3])
        raise PreparationError(
            f"{len(missing):,} of {len(pairs):,} files are missing in {missing[0].parent}: {shown} …"
        )
    for parent in {target.parent for _, target in pairs}:
        parent.mkdir(parents=True, exist_ok=True)
    with progress.step(text, len(pairs)) as done, ThreadPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
        for _ in pool.map(lambda pair: link_file(*pair), pairs, chunksize=64):
            done()


def link_folder(source: Path, target: Path, text: str = "placing files") -> None:
    """Place every file below `source` at the same place below `target`."""
    if not source.is_dir():
        raise PreparationError(f"the folder {source.name} is missing in {source.parent}")
    link_files(((path, target / path.relative_to(source)) for path in walk(source)), text)


def walk(folder: Path) -> Iterable[Path]:
    """All files below `folder`, also behind links, in a fixed order."""
    for directory, names, files in os.walk(folder, followlinks=True):
        names.sort()
        for name in sorted(files):
            yield Path(directory) / name


def link_file(source: Path, target: Path) -> None:
    """Place one file: reflink, else hard link, else copy. The parent of `target` must exist.

    A hard link needs both on one file system, one that has them, and fewer links to the file than it allows. A file
    that others can't read is copied: agents run as another user, and a link would share its rights. `source` itself
    is never changed and may be read-only. Raises PreparationError if a file is there already: what is written to a
    link changes the raw file as well.
    """
    if target.exists():
        raise PreparationError(f"two files of the raw data would be placed at {target.parent.name}/{target.name}")
    source = source.resolve()
    if not source.stat().st_mode & stat.S_IROTH:
        shutil.copyfile(source, target)
        return
    if _reflink(source, target):
        return
    try:
        os.link(source, target)
    except FileExistsError:  # placed by another thread in between
        raise
    except OSError:
        shutil.copyfile(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Place a file of its own with the content of `source`; the file system may let both share their blocks."""
    if not _reflink(source, target):
        shutil.copyfile(source, target)


def _reflink(source: Path, target: Path) -> bool:
    """Share the blocks of `source` (btrfs, xfs); False if the file system can't."""
    if sys.platform != "linux":
        return False
    devices = source.stat().st_dev, target.parent.stat().st_dev
    if devices in _NO_REFLINK:
        return False
    with source.open("rb") as original, target.open("xb") as clone:
        try:
            fcntl.ioctl(clone.fileno(), _FICLONE, original.fileno())
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                _NO_REFLINK.add(devices)
        else:
            return True
    target.unlink()
    return False


_NO_REFLINK: set[tuple[int, int]] = set()  # devices of source and target that refused once

__all__ = [
    "hold_out",
    "hold_out_groups",
    "link_file",
    "link_files",
    "link_folder",
    "one_hot",
    "random_order",
    "random_order_of_groups",
    "read_csv",
    "repack",
    "require_unique",
    "unpack",
    "unzip",
    "walk",
    "write_csv",
    "write_rows",
    "zip_files",
]
