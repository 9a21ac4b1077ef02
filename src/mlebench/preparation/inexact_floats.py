"""Numbers as pandas read them by default before its release 3.1: of more than 15 digits, the last may be wrong.

Some files of the published benchmark were read this way, so that their bytes depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.preparation.parts import read_parts
from mlebench.tables import PANDAS_IS_EXACT

_DIGITS = 17  # that the reader looked at
_EXACT_DIGITS = 15  # that any float holds
_POWERS = np.array([float(f"1e{power}") for power in range(309)])
_NUMBER = r"^\s*(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<fraction>\d*))?(?:[eE](?P<exponent>[+-]?\d{1,4}))?\s*$"


def read_csv_inexactly(path: Path, **options: Any) -> pd.DataFrame:
    """The table that `pandas.read_csv(path, **options)` gave before pandas 3.1, with the faults of its floats."""
    table = pd.read_csv(path, low_memory=False, **options)
    names = _floats(table) if PANDAS_IS_EXACT else []
    if not names:
        return table
    return _made_inexact(table, pd.read_csv(path, **{**options, "low_memory": False, "usecols": names, "dtype": str}))


def read_parts_inexactly(path: Path) -> Iterator[pd.DataFrame]:
    """The same table part by part; raises TypesDiffer as `read_parts` does."""
    texts = None
    for part in read_parts(path, read=pd.read_csv):
        names = _floats(part) if PANDAS_IS_EXACT else []
        if names and texts is None:
            texts = read_parts(path, usecols=names, dtype=str)
        yield part if texts is None else _made_inexact(part, next(texts))


def _floats(table: pd.DataFrame) -> list[str]:
    return [str(name) for name, column in table.items() if column.dtype == np.float64]


def _made_inexact(exact: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """The table whose floats are given exactly and as texts."""
    return exact.assign(**{str(name): _as_read_before(texts[name], exact[name].to_numpy()) for name in texts})


def _as_read_before(texts: pd.Series, exact: np.ndarray) -> np.ndarray:
    """The numbers `texts`, whose values are `exact`, as they were read; only long ones and powers of ten may differ."""
    suspect = (texts.str.len() > _EXACT_DIGITS) | texts.str.contains("e", case=False)
    suspect = np.flatnonzero(suspect.fillna(value=False).to_numpy(dtype=bool))
    parts = texts.iloc[suspect].str.extract(_NUMBER)
    is_number = parts["whole"].notna().to_numpy(dtype=bool)  # it may be a word, such as inf
    found = exact.copy()
    found[suspect[is_number]] = inexact_floats(parts[is_number].fillna(""))
    return found


def inexact_floats(parts: pd.DataFrame) -> np.ndarray:
    """Floats of numbers that are given as texts: `sign`, `whole`, `fraction` and `exponent`, empty if there is none.

    The first 17 digits, leading zeros among them, make a float, digit by digit; a single multiplication or division
    by a power of ten follows. Each step is rounded, where an exact reader rounds once.
    """
    digits = (parts["whole"] + parts["fraction"]).str[:_DIGITS]
    start = pd.to_numeric(digits.str[:_EXACT_DIGITS]).to_numpy(dtype=float)
    for place in range(_EXACT_DIGITS, _DIGITS):
        more = digits.str.len().to_numpy() > place
        start[more] = start[more] * 10 + digits[more].str[place].astype(float).to_numpy()
    whole, fraction = parts["whole"].str.len().to_numpy(), parts["fraction"].str.len().to_numpy()
    exponent = np.maximum(whole - _DIGITS, 0) - np.minimum(fraction, np.maximum(_DIGITS - whole, 0))
    exponent = exponent + pd.to_numeric(parts["exponent"].where(parts["exponent"] != "", "0")).to_numpy(dtype=int)
    with np.errstate(over="ignore"):
        found = np.where(exponent > 308, np.inf, start * _POWERS[np.clip(exponent, 0, 308)])
    # Below 1e-308 the larger power comes last.
    found = found / _POWERS[np.clip(-308 - exponent, 0, 308)] / _POWERS[np.clip(-exponent, 0, 308)]
    found = np.where(exponent < -616, 0.0, found)
    return np.where(parts["sign"] == "-", -found, found)
