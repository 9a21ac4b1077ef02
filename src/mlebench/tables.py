"""Reading and writing tables exactly as edition v1 does."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError

if TYPE_CHECKING:
    from pandas.io.parsers import TextFileReader

_ROWS_OF_A_PART = 50_000

# What pandas takes for a missing cell, quoted or not.
MISSING_WORDS = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
]

# Before pandas 3.1 the default parser of floats, which `to_numeric` uses too, is wrong in the last digit of some.
PANDAS_IS_EXACT = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
_EXACT: dict[str, Any] = {} if PANDAS_IS_EXACT else {"float_precision": "round_trip"}  # deprecated from 3.1 on


def read_csv(source: Path | Any, **options: Any) -> pd.DataFrame:
    """Read a CSV file with exact floats; `options` go to `pandas.read_csv`.

    Whole columns are looked at before their type is decided, so a type never depends on the file's length.
    """
    if "chunksize" not in options:
        options.setdefault("low_memory", False)
    table = pd.read_csv(source, **_EXACT, **options)
    return with_missing_cells(table, **options) if isinstance(table, pd.DataFrame) else table


def read_csv_in_parts(path: Path, **options: Any) -> pd.DataFrame:
    """What `read_csv` returns, for large files in about half the time and memory; the index may be another.

    Parts that fit into the processor's cache are parsed faster. If they disagree on the type of a column, the
    file is read again as a whole, because whole columns decide.
    """
    parts = pd.read_csv(path, chunksize=_ROWS_OF_A_PART, low_memory=False, **_EXACT, **options)
    with cast("TextFileReader", parts) as reader:
        tables = [with_missing_cells(part, **options) for part in reader]
    if not tables or any(column_types(table) != column_types(tables[0]) for table in tables[1:]):
        return read_csv(path, **options)
    return pd.concat(tables)


def with_missing_cells(table: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """`table`, as `pandas.read_csv` read it with `options`, with all its missing cells.

    pandas 3.1 leaves MISSING_WORDS as texts in a column of texts that begins with an integer beyond 64 bits. In a
    column of nothing but integers too large for int64 every release may leave them, and so they stay.
    """
    types = options.get("dtype") or {}
    if not isinstance(types, dict) or not options.get("keep_default_na", True):
        return table
    for name in table.columns.difference(list(types), sort=False):
        column = table[name]
        if pd.api.types.is_string_dtype(column) and _begins_with_integer(column):
            overlooked = column.isin(MISSING_WORDS)
            if overlooked.any() and not column[~overlooked].map(_is_integer).all():
                table[name] = column.mask(overlooked)
    return table


def _begins_with_integer(texts: pd.Series) -> bool:
    return _is_integer(next((text for text in texts if text not in MISSING_WORDS), ""))


def _is_integer(cell: object) -> bool:
    return isinstance(cell, str) and re.fullmatch(r"\s*[+-]?[0-9]+\s*", cell) is not None


def places_of(ids: pd.Series, known: pd.Series) -> np.ndarray:
    """Where each of `ids` stands in `known`, which has each once; -1 if nowhere. Shape (ids,).

    What `pd.Index.get_indexer` returns; millions of texts take a third of its time.
    """
    if ids.equals(known):
        return np.arange(len(known))
    if ids.dtype != known.dtype or not pd.api.types.is_string_dtype(known.dtype):
        return pd.Index(known).get_indexer(pd.Index(ids))
    codes, texts = pd.factorize(pd.concat([known, ids], ignore_index=True), use_na_sentinel=False)
    places = np.full(len(texts), -1)
    places[codes[: len(known)]] = np.arange(len(known))
    return places[codes[len(known) :]]


@contextmanager
def unzipped(path: Path) -> Iterator[Path]:
    """`path` itself or, if it ends in .zip or .7z, a temporary file with the archive's only member.

    Raises ValueError if the archive is damaged or holds another number of members.
    """
    if path.suffix not in (".zip", ".7z"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
        if path.suffix == ".7z":
            yield _only_member(path, Path(folder))
            return
        plain = Path(folder) / "member.csv"
        try:
            with zipfile.ZipFile(path) as archive:
                (name,) = archive.namelist()
                with archive.open(name) as source, plain.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path.name} is no readable zip archive: {error}") from error
        yield plain


def _only_member(archive: Path, folder: Path) -> Path:
    """The only member of a 7z archive, unpacked into the empty `folder`."""
    from mlebench.preparation.seven_zip import un7zip

    try:
        un7zip(archive, folder)
    except PreparationError as error:
        raise ValueError(str(error)) from error
    (member,) = (path for path in folder.rglob("*") if path.is_file())
    return member


def column_types(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The type of each column; for columns of objects also that of the objects."""
    return [
        (str(column.dtype), pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else "")
        for _, column in table.items()
    ]


def write_csv(table: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write `table` without index: commas, LF, shortest floats, missing cells empty.

    Makes the parent folders. `options` go to `DataFrame.to_csv`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n", **options)
