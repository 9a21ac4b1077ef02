"""Reading and writing tables exactly as edition v1 does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

# From pandas 3.1 on the default parser of floats is exact, and the argument is deprecated.
_EXACT: dict[str, Any] = (
    {} if tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1) else {"float_precision": "round_trip"}
)


def read_csv(source: Path | Any, **options: Any) -> pd.DataFrame:
    """Read a CSV file with exact floats; `options` go to `pandas.read_csv`.

    Whole columns are looked at before their type is decided, so a type never depends on the file's length.
    """
    if "chunksize" not in options:
        options.setdefault("low_memory", False)
    return pd.read_csv(source, **_EXACT, **options)


def write_csv(table: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write `table` without index: commas, LF, shortest floats, missing cells empty.

    Makes the parent folders. `options` go to `DataFrame.to_csv`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n", **options)
