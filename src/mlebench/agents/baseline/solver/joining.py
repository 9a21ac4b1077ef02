"""Which table has a row for each row of the sample submission, and how the two are put side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pandas as pd

from .files import read_text_table

HEAD = 60
SEPARATORS = ("_", "-")
ROWS_OF_A_TRAINING_SET = 3_000_000


@dataclass(frozen=True)
class TestTable:
    """A test table. `names`: its columns that are columns of the sample under another name.

    `ids`: the sample's columns that it has (by name, by `names`, or as its columns `joined` by `separator`).
    """

    path: Path
    ids: tuple[str, ...]
    names: dict[str, str]
    joined: tuple[str, ...] = ()
    separator: str = ""

    @property
    def texts(self) -> list[str]:
        """The table's columns that have to be read as text."""
        back = {ours: theirs for theirs, ours in self.names.items()}
        return [*(back.get(name, name) for name in self.ids if not self.joined), *self.joined]

    def beside(self, sample: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of `table` in the sample's order, with the sample's names of the ids."""
        table = table.rename(columns=self.names)
        ids = list(self.ids)
        if self.joined:
            table[ids[0]] = joined(table, self.joined, self.separator)
        keys = table[ids].astype("string").fillna("")
        given = sample[ids].astype("string").fillna("")
        if len(table) == len(sample) and (keys.to_numpy() == given.to_numpy()).all():
            return table.reset_index(drop=True)
        rest = table.drop(columns=ids)
        first = ~keys.duplicated()
        return given.merge(pd.concat([keys, rest], axis=1)[first], on=ids, how="left")


def joined(table: pd.DataFrame, columns: tuple[str, ...], separator: str) -> pd.Series:
    """The cells of columns as one text a row."""
    whole = table[columns[0]].astype("string")
    for column in columns[1:]:
        whole = whole + separator + table[column].astype("string")
    return whole


def find_test(sample: pd.DataFrame, tables: Mapping[Path, pd.DataFrame]) -> TestTable | None:
    """The first table that has the sample's rows: under the same names, under others, or as joined columns."""
    order = sorted(tables, key=lambda path: "test" not in path.name.lower())
    for kind in (by_name, by_value, by_parts):
        for path in order:
            found = kind(sample, path, tables[path])
            if found is not None:
                return found
    return None


def covers(path: Path, column: str, wanted: pd.Series, head: pd.DataFrame) -> bool:
    """Whether a table's column has all the wanted values; only a table whose first rows are wanted is read whole."""
    values = set(wanted)
    if len(head) < HEAD:
        return values <= set(head[column])
    if values <= set(head[column]):
        return True
    train = re.search("train|label", path.name, re.IGNORECASE)
    if train and not set(head[column].head(HEAD)) & values:
        return False
    return values <= set(read_text_table(path, ROWS_OF_A_TRAINING_SET, [column])[column])


def by_name(sample: pd.DataFrame, path: Path, head: pd.DataFrame) -> TestTable | None:
    """A table that has some of the sample's columns, one of which tells rows apart, with all their values."""
    shared = [str(column) for column in sample.columns if column in head.columns]
    if not shared or len(shared) == len(sample.columns):
        return None
    ids = [column for column in shared if covers(path, column, sample[column], head)]
    if not any(sample[column].nunique() > 0.2 * len(sample) for column in ids):
        return None
    return TestTable(path, tuple(ids), {})


def by_value(sample: pd.DataFrame, path: Path, head: pd.DataFrame) -> TestTable | None:
    """A table whose column of another name has the values of the sample's first column."""
    name = str(sample.columns[0])
    wanted = set(sample[name])
    if sample[name].nunique() < len(sample) or len(sample) < 2:
        return None
    for column in map(str, head.columns):
        inside = [value in wanted for value in head[column].head(HEAD)]
        if sum(inside) > 0.5 * max(1, len(inside)) and covers(path, column, sample[name], head):
            return TestTable(path, (name,), {column: name})
    return None


def by_parts(sample: pd.DataFrame, path: Path, head: pd.DataFrame) -> TestTable | None:
    """A table with two or three columns that, joined, are the values of the sample's first column."""
    name = str(sample.columns[0])
    wanted = set(sample[name])
    for separator in SEPARATORS:
        parts = sample[name].head(HEAD).str.count(re.escape(separator)).max() + 1
        if not 2 <= parts <= 3 or len(head.columns) > 12:
            continue
        for columns in permutations(map(str, head.columns), int(parts)):
            found = joined(head.head(HEAD), columns, separator)
            if found.isin(wanted).mean() > 0.9 and len(found):
                whole = joined(read_text_table(path, None, list(columns)), columns, separator)
                if wanted <= set(whole):
                    return TestTable(path, (name,), {}, columns, separator)
    return None
