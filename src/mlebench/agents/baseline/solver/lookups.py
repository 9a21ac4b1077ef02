"""Further tables that describe the things that a row names: joined to it by name or by numbered names.

A table of places of players at moments, say, is joined twice to rows that have the columns `moment`, `player_1` and
`player_2`; then the differences between the two are told as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from .files import read_table

MOST_VALUES = 24
MOST_BYTES = 1 << 30
UNIQUE = 0.95
ROWS_TO_TRY = 2_000
PLACE = re.compile(r"(^|_)[xyz](_|$)", re.IGNORECASE)


def enrich(
    train: pd.DataFrame, test: pd.DataFrame, tables: Mapping[Path, pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with the columns of all tables that can be joined to both."""
    for paths in alike(tables):
        keys = keys_of(tables[paths[0]], train, test)
        if not keys or sum(path.stat().st_size for path in paths) > MOST_BYTES:
            continue
        plain = list(keys)
        side = pd.concat([read_table(path, plain) for path in paths], ignore_index=True)
        side = side.dropna(subset=plain)
        single = side.drop_duplicates(plain)
        if len(single) < UNIQUE * len(side) or not len(single) or not tells_of_both(train, test, single, keys):
            continue
        print(f"  joined {', '.join(path.name for path in paths)} by {keys}", flush=True)
        train, test = join(train, single, keys, paths[0].stem), join(test, single, keys, paths[0].stem)
    return train, test


def tells_of_both(train: pd.DataFrame, test: pd.DataFrame, side: pd.DataFrame, keys: Mapping[str, list[str]]) -> bool:
    """Whether a side table knows about as many of the test's things as of the training's."""
    whole = side[list(keys)].astype("string").agg("|".join, axis=1)
    shares = []
    for table in (train, test):
        rows = table.sample(min(len(table), ROWS_TO_TRY), random_state=0)
        names = [options[0] for options in keys.values()]
        shares.append(rows[names].astype("string").fillna("").agg("|".join, axis=1).isin(set(whole)).mean())
    return shares[0] > 0 and shares[1] > 0.7 * shares[0]


def alike(tables: Mapping[Path, pd.DataFrame]) -> list[list[Path]]:
    """The tables, those of the same columns together."""
    groups: dict[tuple[str, ...], list[Path]] = {}
    for path, head in tables.items():
        groups.setdefault(tuple(map(str, head.columns)), []).append(path)
    return list(groups.values())


def keys_of(side: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, list[str]]:
    """The side table's columns that both tables have, by name or numbered, and under which names; {} if none is."""
    shared = [str(column) for column in train.columns if column in test.columns]
    keys: dict[str, list[str]] = {}
    for column in map(str, side.columns):
        numbered = [name for name in shared if re.fullmatch(rf"{re.escape(column)}_\d", name)]
        if column in shared:
            keys[column] = [column]
        elif len(numbered) > 1:
            keys[column] = numbered
    own = set(side.columns) - set(keys)
    return keys if own and any(numbered[0] != column or is_name(column) for column, numbered in keys.items()) else {}


def is_name(column: str) -> bool:
    """Whether a column is called like one that names things."""
    return re.search(r"id$|_id|name|code|key|image|file", column, re.IGNORECASE) is not None


def join(table: pd.DataFrame, side: pd.DataFrame, keys: Mapping[str, Sequence[str]], name: str) -> pd.DataFrame:
    """The table with the side table's other columns, once for each number; with differences if there are two."""
    values = [str(column) for column in side.columns if column not in keys][:MOST_VALUES]
    count = max(len(names) for names in keys.values())
    parts = []
    for number in range(count):
        names = [options[number] if len(options) > 1 else options[0] for options in keys.values()]
        left = table[names].astype("string").set_axis(list(keys), axis=1)
        right = side[[*keys, *values]].astype(dict.fromkeys(keys, "string"))
        found = left.merge(right, on=list(keys), how="left")[values]
        parts.append(found.set_axis([f"{name} {value} {number}" for value in values], axis=1).set_axis(table.index))
    if count == 2:
        parts.append(differences(parts[0], parts[1], values, name))
    return pd.concat([table, *parts], axis=1)


def differences(first: pd.DataFrame, second: pd.DataFrame, values: Sequence[str], name: str) -> pd.DataFrame:
    """The differences of the numbers, and how far the two are apart if these have coordinates."""
    found: dict[str, np.ndarray] = {}
    squares = None
    for place, value in enumerate(values):
        one, other = first.iloc[:, place], second.iloc[:, place]
        if not (pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other)):
            continue
        gap = one.to_numpy(float) - other.to_numpy(float)
        found[f"{name} {value} difference"] = np.abs(gap)
        if PLACE.search(value):
            squares = gap**2 if squares is None else squares + gap**2
    if squares is not None:
        found[f"{name} distance"] = np.sqrt(squares)
    return pd.DataFrame(found, index=first.index)
