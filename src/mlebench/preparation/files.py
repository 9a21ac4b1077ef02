"""The steps that a competition's `prepare.py` is made of.

Written tables and placed files never change anything in `raw`: archives are unpacked beside it under
`.unpacked`, and public files are links where the file system allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.archives import extract, repack, unzip, zip_files
from mlebench.preparation.layout import SCRATCH
from mlebench.preparation.placing import link_file, link_files, link_folder, walk
from mlebench.tables import read_csv, write_csv

_FICLONE = 0x40049409
_ROWS_OF_A_PART = 200_000
Table = TypeVar("Table", pd.DataFrame, pd.Series)


def unpack(raw: Path, archive: str) -> Path:
    """The folder that holds what is in the archive `raw`/`archive` (zip, 7z, tar …), unpacked once.

    Raises PreparationError if it is missing or damaged.
    """
    path = raw / archive
    folder = raw / SCRATCH / archive
    if not folder.is_dir():
        if not path.is_file():
            raise PreparationError(f"{archive} is missing in {raw}")
        partial = folder.with_name(folder.name + ".partial")
        extract(path, partial)
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
