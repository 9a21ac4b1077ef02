"""What may stand in a cell of a submission: the plain types and the named formats.

A format is a function `check(values, context) -> faults`. `FORMATS` maps names to them, those of
`mlebench.cell_formats` by dotted paths; a competition's own format is named by a dotted path `module:function`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mlebench.tables import PANDAS_IS_EXACT


@dataclass(frozen=True)
class Column:
    """One column that a submission must have.

    `type`: "number", "integer", "boolean", "text", "anything" (must be there, is never looked at), or the
    name of a cell format (see `FORMATS`), whose settings are in `options`.
    `minimum` and `maximum` bound numbers and integers; `allowed` lists all the values there are.
    `alias` is another name under which the column is taken; a file has one of the two.
    """

    name: str
    type: str = "number"
    minimum: float | None = None
    maximum: float | None = None
    allowed: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    alias: str = ""


@dataclass(frozen=True)
class Fault:
    """Cells that are wrong in one way; `rows` is a boolean array (rows,)."""

    kind: str
    message: str
    rows: np.ndarray
    expected: str


@dataclass(frozen=True)
class Context:
    """What a check may look at besides the values: its column, the ids, and the public sample submission."""

    column: Column
    ids: pd.Series
    sample_ids: pd.Series
    sample_values: pd.Series


Check = Callable[[pd.Series, Context], Iterator[Fault]]


@dataclass(frozen=True)
class Format:
    """A check, or the dotted path of one, and the type that pandas is told to read the column as (None: it decides).

    Cells of a `verbatim` column are texts as they stand: `NA` is `NA`, and an empty cell is an empty text.
    """

    check: Check | str
    dtype: type | None = None
    verbatim: bool = False


def find(name: str) -> Check:
    """The check of the type or format `name`, or of a dotted path `module:function`."""
    path = name
    if name in FORMATS:
        check = FORMATS[name].check
        if not isinstance(check, str):
            return check
        path = check
    module, separator, function = path.partition(":")
    if not separator:
        raise ValueError(f"no cell format {name!r}; there are {', '.join(FORMATS)}")
    return getattr(importlib.import_module(module), function)


def check_number(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Finite numbers within the column's bounds; True and False count as 1 and 0.

    A missing cell is a fault unless `options.empty` is true; one number throughout is if `options.varies` is.
    """
    expected = _numbers_expected(context.column, "a finite number")
    numbers = as_numbers(values)
    missing = values.isna().to_numpy()
    text = np.isnan(numbers) & ~missing
    if missing.any() and not context.column.options.get("empty", False):
        yield Fault("missing value", "is missing", missing, expected)
    if text.any():
        yield Fault("not a number", "is not a number", text, expected)
    infinite = np.isinf(numbers)
    if infinite.any():
        yield Fault("not finite", "is infinite", infinite, expected)
    yield from _out_of_range(numbers, context.column, expected)
    if context.column.options.get("varies", False) and (numbers == numbers[0]).all():
        every = np.ones(len(numbers), dtype=bool)
        yield Fault("constant", "is the same in every row, which has no correlation", every, "numbers that differ")


def check_integer(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Whole numbers, also written as 2.0, within the column's bounds or among its allowed values."""
    faults = list(check_number(values, context))
    yield from faults
    numbers = as_numbers(values)
    whole = _numbers_expected(context.column, "a whole number")
    fraction = np.isfinite(numbers) & (numbers != np.floor(numbers))
    if fraction.any():
        yield Fault("not whole", "is no whole number", fraction, whole)
    if not pd.api.types.is_integer_dtype(values):
        huge = np.isfinite(numbers) & (np.abs(numbers) >= 2.0**63)
        huge &= ~np.any([fault.rows for fault in faults], axis=0)
        if huge.any():
            yield Fault("out of range", "takes more than 64 bits", huge, whole)
    allowed = context.column.allowed
    if allowed and not faults and not fraction.any():
        wrong = ~np.isin(numbers, np.asarray(allowed, dtype=float))
        if wrong.any():
            yield Fault("not allowed", "is none of the allowed values", wrong, _one_of(allowed))


def check_boolean(values: pd.Series, _context: Context) -> Iterator[Fault]:
    """True or False in any case, or 1 and 0 throughout; words with blanks around them are neither."""
    if pd.api.types.is_bool_dtype(values):
        return
    expected = "True or False"
    missing = values.isna().to_numpy()
    if missing.any():
        yield Fault("missing value", "is missing", missing, expected)
    if pd.api.types.is_numeric_dtype(values):
        wrong = ~values.isin([0, 1]).to_numpy() & ~missing
    else:  # text, or a mixture that pandas leaves as it found it
        wrong = ~values.astype("object").map(_is_boolean).to_numpy(dtype=bool) & ~missing
    if wrong.any():
        yield Fault("not a boolean", "is neither True nor False throughout", wrong, expected)


def check_text(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Any text; an empty cell is an empty text unless `options.empty` is false or `allowed` lists the values.

    With `options.numbers` false a column that pandas takes for numbers or booleans throughout is refused, with
    `options.all_empty` false one without any text; `options.most_characters` bounds the length of a text.
    """
    column = context.column
    yield from _faults_of_the_whole(values, column)
    limit = column.options.get("most_characters")
    if limit is not None:
        long = values.astype("object").map(lambda cell: isinstance(cell, str) and len(cell) > limit).to_numpy(bool)
        if long.any():
            yield Fault("too long", f"has over {limit:,} characters", long, f"at most {limit:,} characters")
    if column.allowed:
        wrong = ~values.isin(list(column.allowed)).to_numpy()
        if wrong.any():
            yield Fault("not allowed", "is none of the allowed values", wrong, _one_of(column.allowed))
    elif not column.options.get("empty", True):
        missing = values.isna().to_numpy()
        if missing.any():
            yield Fault("missing value", "is missing", missing, "some text")


def _faults_of_the_whole(values: pd.Series, column: Column) -> Iterator[Fault]:
    missing = values.isna().to_numpy()
    if not column.options.get("numbers", True) and not missing.all() and _is_typed(values):
        yield Fault("not a text", "is a number, and so is every other cell of the column", ~missing, "texts")
    if missing.all() and not column.options.get("all_empty", True):
        yield Fault("missing value", "is missing throughout", missing, "some text")


def _is_typed(values: pd.Series) -> bool:
    """Whether pandas took a column for numbers or booleans, which stay objects where some are missing."""
    if pd.api.types.is_numeric_dtype(values):
        return True
    return values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) == "boolean"


def check_verbatim(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Any text as it stands, words such as NA and null included; `options.empty` false refuses empty ones."""
    if not context.column.options.get("empty", True):
        empty = (values == "").to_numpy(dtype=bool)
        if empty.any():
            yield Fault("missing value", "is empty", empty, "some text")


def check_anything(_values: pd.Series, _context: Context) -> Iterator[Fault]:
    """Nothing is wrong, ever: the column has to be there and is not looked at."""
    yield from ()


def as_text(values: pd.Series) -> pd.Series:
    """Cells as text, missing ones as the empty text; numbers in the form pandas gives them."""
    return values.astype("object").where(values.notna(), "").map(str)


def _is_boolean(cell: object) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.lower() in ("true", "false"))


def as_numbers(values: pd.Series) -> np.ndarray:
    """Float64 array; NaN where a cell is no number."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return values.to_numpy(dtype=float, na_value=np.nan)
    things = values.astype("object")
    try:
        numbers = pd.to_numeric(things, errors="coerce").to_numpy(dtype=float)
    except OverflowError:  # an integer that is larger than any float
        numbers = pd.to_numeric(things.map(str), errors="coerce").to_numpy(dtype=float)
    return numbers if PANDAS_IS_EXACT else _exact(numbers, things)


def _exact(numbers: np.ndarray, things: pd.Series) -> np.ndarray:
    """`numbers`, found in `things`, without the faults of pandas in their last digits."""
    found = ~np.isnan(numbers)
    exact = numbers.copy()
    exact[found] = [float(thing) for thing in things[found]]
    return exact


def _out_of_range(numbers: np.ndarray, column: Column, expected: str) -> Iterator[Fault]:
    wrong = np.zeros(len(numbers), dtype=bool)
    finite = np.isfinite(numbers)
    if column.minimum is not None:
        wrong |= finite & (numbers < column.minimum)
    if column.maximum is not None:
        wrong |= finite & (numbers > column.maximum)
    if wrong.any():
        yield Fault("out of range", "is out of range", wrong, expected)


def _numbers_expected(column: Column, what: str) -> str:
    if column.minimum is not None and column.maximum is not None:
        return f"{what} from {column.minimum:g} to {column.maximum:g}"
    if column.minimum is not None:
        return f"{what} of at least {column.minimum:g}"
    if column.maximum is not None:
        return f"{what} of at most {column.maximum:g}"
    return what


def _one_of(allowed: tuple[Any, ...]) -> str:
    return "one of " + ", ".join(map(str, allowed[:12])) + (" …" if len(allowed) > 12 else "")


FORMATS: dict[str, Format] = {
    "number": Format(check_number),
    "integer": Format(check_integer),
    "boolean": Format(check_boolean),
    "text": Format(check_text),
    "verbatim": Format(check_verbatim, verbatim=True),
    "anything": Format(check_anything),
    "boxes": Format("mlebench.cell_formats.boxes:check_boxes", str),
    "class-name": Format("mlebench.cell_formats.class_names:check_class_names"),
    "class-numbers": Format("mlebench.cell_formats.class_numbers:check_class_numbers"),
    "id-list": Format("mlebench.cell_formats.id_list:check_id_list"),
    "label-list": Format("mlebench.cell_formats.label_list:check_label_list"),
    "label-list-as-text": Format("mlebench.cell_formats.label_list:check_label_list", verbatim=True),
    "labelled-boxes": Format("mlebench.cell_formats.labelled_boxes:check_labelled_boxes", str),
    "permutation": Format("mlebench.cell_formats.permutation:check_permutation", str),
    "run-lengths": Format("mlebench.cell_formats.run_lengths:check_run_lengths", str),
    "whole-numbers": Format("mlebench.cell_formats.whole_numbers:check_whole_numbers", str),
}
