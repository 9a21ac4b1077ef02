"""Large tables read part by part, written with the bytes of the whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import pandas as pd

from mlebench.tables import column_types, read_csv, with_missing_cells, write_csv

if TYPE_CHECKING:
    from pandas.io.parsers import TextFileReader

ROWS = 50_000  # of a part


class TypesDiffer(Exception):
    """A column is of one type in some parts and of another in others: only the whole table tells which it is."""


def read_parts(source: Path | IO[bytes], read: Callable[..., Any] = read_csv, **options: Any) -> Iterator[pd.DataFrame]:
    """The table that `read(source, **options)` returns, in parts whose columns have the types of the whole.

    Raises TypesDiffer, maybe after some parts, where this can't be told.
    """
    expected = None
    with cast("TextFileReader", read(source, chunksize=ROWS, low_memory=False, **options)) as reader:
        for read_part in reader:
            part = with_missing_cells(read_part, **options)
            types = column_types(part)
            if types != (expected or types):
                raise TypesDiffer
            expected = types
            yield part


def write_by_key(
    key: str, sides: Mapping[Path, Collection[Any]], parts: Iterable[pd.DataFrame], whole: Callable[[], pd.DataFrame]
) -> int:
    """Write to each path the rows whose value in the column `key` is among its values; returns how many values were.

    Only one of `parts` is in memory at a time. If they raise TypesDiffer all is done again with the whole table.
    """
    try:
        return _write_by_key(key, sides, parts)
    except TypesDiffer:
        return _write_by_key(key, sides, [whole()])


def _write_by_key(key: str, sides: Mapping[Path, Collection[Any]], parts: Iterable[pd.DataFrame]) -> int:
    found: set[Any] = set()
    with ExitStack() as stack:
        files = {path: stack.enter_context(path.open("w", encoding="utf-8", newline="")) for path in sides}
        for number, part in enumerate(parts):
            for path, values in sides.items():
                rows = part[part[key].isin(list(values))]
                rows.to_csv(files[path], index=False, header=number == 0, lineterminator="\n")
                found.update(rows[key].unique())
    return len(found)


def append_csv(table: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write `table` behind what stands in the file, which is begun with a header if it is not there yet."""
    write_csv(table, path, mode="a", header=not path.exists(), **options)
