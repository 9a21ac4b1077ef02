"""Put the rows of a table that is too big for memory in another order."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from mlebench.preparation.parts import TypesDiffer, read_parts
from mlebench.tables import read_csv

ROWS_AT_ONCE = 50_000


def read_in_order(source: Path, order: np.ndarray, scratch: Path, **options: Any) -> Iterator[pd.DataFrame]:
    """What `in_order` gives for the table that `read_csv(source, **options)` returns."""
    try:
        yield from in_order(read_parts(source, **options), order, scratch)
    except TypesDiffer:  # before the first rows came: all parts are read by then
        yield from in_order([read_csv(source, **options)], order, scratch)


def divided(tables: Iterable[pd.DataFrame], rows: int) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Each table cut in two: what belongs to the first `rows` rows of all, and the others. Either may be empty."""
    left = rows
    for table in tables:
        yield table.iloc[:left], table.iloc[left:]
        left -= min(left, len(table))


def in_order(
    parts: Iterable[pd.DataFrame], order: np.ndarray, scratch: Path, rows_at_once: int = ROWS_AT_ONCE
) -> Iterator[pd.DataFrame]:
    """The rows with the numbers `order`, in this order, in tables of at most `rows_at_once` rows.

    `parts` are the tables that follow each other in the whole one; rows are numbered through them from 0. `order`
    holds each number once at most; rows that it lacks are left out. In the meantime all rows lie in a temporary
    folder in `scratch`, which takes as much space as the table itself.
    """
    place = np.full(int(order.max()) + 1, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    with tempfile.TemporaryDirectory(prefix=".rows-", dir=scratch) as folder:
        files = [Path(folder) / str(number) for number in range(-(-len(order) // rows_at_once))]
        with ExitStack() as stack:
            outputs = [stack.enter_context(file.open("wb")) for file in files]
            first = 0
            for part in parts:
                places = np.full(len(part), -1, dtype=np.int64)
                known = place[first : first + len(part)]
                places[: len(known)] = known
                _deal_out(part, places, outputs, rows_at_once)
                first += len(part)
        for file in files:
            yield _gathered(file)
            file.unlink()


def _deal_out(part: pd.DataFrame, places: np.ndarray, outputs: Sequence[BinaryIO], rows_at_once: int) -> None:
    """Append the rows of each file's places to it, with their places."""
    by_file = np.argsort(places, kind="stable")
    by_file = by_file[places[by_file] >= 0]
    limits = np.searchsorted(places[by_file], np.arange(len(outputs) + 1) * rows_at_once)
    for output, start, end in zip(outputs, limits, limits[1:], strict=False):
        if start < end:
            rows = by_file[start:end]
            pickle.dump((places[rows], part.iloc[rows]), output, protocol=5)


def _gathered(file: Path) -> pd.DataFrame:
    """All rows of a file, in the order of their places."""
    places, tables = [], []
    with file.open("rb") as source:
        while source.peek(1):
            where, table = pickle.load(source)
            places.append(where)
            tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    tables.clear()  # so that the rows are there twice at once, not three times
    return table.iloc[np.argsort(np.concatenate(places))]
