"""The schema of a submission, and its validation, which needs no labels.

Problems are collected, not thrown one by one. A file is looked at as bytes first, so that a hostile one
(a gigabyte in one line, a million columns, binary junk, rows without end) is refused before it is parsed.

CSV as users write it: a byte-order mark, CRLF, quoted numbers, and an index column where the competition
ignores further columns, are fine; so are 10 million rows.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from mlebench import cells
from mlebench.cells import Column
from mlebench.errors import CompetitionError, InvalidSubmission, Problem
from mlebench.file_guard import MAX_COLUMNS, MAX_HEADER_BYTES, MAX_LINE_BYTES, find_fault
from mlebench.tables import MISSING_WORDS, places_of, read_csv, read_csv_in_parts, unzipped

MIN_LIMIT_BYTES = 512 << 20  # any file may have as much
SHOWN = 5  # rows and values that a problem names


@dataclass(frozen=True)
class Schema:
    """What a valid submission looks like.

    By default: each id of the sample submission exactly once, rows in any order, further columns ignored.
    """

    id: str
    columns: tuple[Column, ...]
    id_type: str = "text"  # or "integer"
    second_key: str = ""  # the column that names a row together with the id, if the id alone does not
    ids_may_be_missing: bool = False
    ids_may_repeat: bool = False
    extra_columns: bool = True
    id_first: bool = False
    fixed_columns: bool = False  # the columns stand in the order of the schema
    fixed_order: bool = False  # rows stand in the order of the sample submission
    row_sum: float | None = None  # what the columns of a row must add up to
    row_sum_tolerance: float = 1.1e-5

    @property
    def names(self) -> list[str]:
        """All required columns, the id first."""
        return [self.id, *(column.name for column in self.columns)]

    @property
    def usual_names(self) -> dict[str, str]:
        """The name of the column for each alias."""
        return {column.alias: column.name for column in self.columns if column.alias}


@dataclass(frozen=True)
class Validation:
    """What validating a submission found; `table` holds the required columns in file order if it is valid."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...] = ()
    table: pd.DataFrame | None = None

    @property
    def valid(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def message(self) -> str:
        """For the agent: one sentence if all is well, else a line for each problem."""
        if self.valid:
            return "\n".join(["Submission is valid.", *(f"Warning: {warning}" for warning in self.warnings)])
        return "\n".join(["Submission is invalid.", *(f"- {problem}" for problem in self.problems)])


CompetitionCheck = Callable[[pd.DataFrame, Path], Iterable[Problem]]


def validate(path: Path, schema: Schema, sample_path: Path, extra_check: CompetitionCheck | None = None) -> Validation:
    """Validate the file `path` against `schema` and the ids of the sample submission `sample_path`.

    `extra_check(table, public)` adds what a schema can't say, problems and warnings; it is called only if all else
    holds, with the required columns in file order and the folder of public files.
    Raises CompetitionError if the sample submission itself can't be read.
    """
    sample = read_sample(sample_path, schema)
    problems = _file_problems(path, sample_path, len(sample), schema)
    if problems:
        return Validation(tuple(problems))
    try:
        table = _read(path, schema, max_rows=_row_limit(schema, len(sample)))
    except InvalidSubmission as error:
        return Validation(error.problems)
    problems = [*_id_problems(table, sample, schema), *_cell_problems(table, sample, schema)]
    if not problems:
        table = _with_numbers(table, schema)
    if not problems and schema.row_sum is not None:
        problems += _row_sum_problems(table, schema)
    warnings: list[str] = []
    if not problems and extra_check is not None:
        found = list(extra_check(table, sample_path.parent))
        problems = [problem for problem in found if not problem.only_warns]
        warnings = [str(problem) for problem in found if problem.only_warns]
    if problems:
        return Validation(tuple(problems))
    return Validation((), (*_warnings(table, sample, schema), *warnings), table)


def row_problem(
    kind: str,
    message: str,
    wrong: np.ndarray | pd.Series,
    values: pd.Series | None = None,
    expected: str = "",
    only_warns: bool = False,
) -> Problem:
    """A problem of the rows at which the boolean array `wrong` (rows,) is true, with their `values`."""
    where = np.flatnonzero(np.asarray(wrong, dtype=bool))
    shown = where[:SHOWN]
    return Problem(
        kind,
        message,
        expected,
        rows=tuple(int(row) + 1 for row in shown),
        values=() if values is None else tuple(_short(value) for value in values.iloc[shown]),
        count=len(where),
        only_warns=only_warns,
    )


# --- the file as bytes


def largest_file(sample_path: Path) -> int:
    """So many bytes a submission may have: how much is too much follows from the sample submission."""
    return MIN_LIMIT_BYTES + 64 * sample_path.stat().st_size


def _file_problems(path: Path, sample_path: Path, sample_rows: int, schema: Schema) -> list[Problem]:
    """Refuse what must not reach the parser."""
    max_bytes = largest_file(sample_path)
    max_fields = max(4_000_000, _row_limit(schema, sample_rows) * (len(schema.names) + 64))
    fault = find_fault(path, max_bytes, max_fields)
    return [Problem(fault.kind, fault.message, fault.expected)] if fault else []


def _row_limit(schema: Schema, sample_rows: int) -> int:
    """How many rows are worth reading: a file with more is refused for their number."""
    return (100 if schema.ids_may_repeat else 2) * sample_rows + 1000


# --- the file as a table


def read_sample(path: Path, schema: Schema) -> pd.DataFrame:
    """The required columns of the sample submission, a CSV file or an archive of one, cached by path, time and size."""
    try:
        stat = path.stat()
    except OSError as error:
        raise CompetitionError(f"the sample submission {path} is missing") from error
    return _read_sample(path, _Key(schema), stat.st_mtime_ns, stat.st_size)


class _Key:
    """Makes a schema usable as a cache key: by identity, since it holds dictionaries."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.schema is self.schema


@lru_cache(maxsize=16)
def _read_sample(path: Path, key: _Key, _mtime: int, _size: int) -> pd.DataFrame:
    try:
        with unzipped(path) as plain:
            wanted = {*key.schema.names, *key.schema.usual_names}  # others may be texts that fill gigabytes
            return _read(plain, key.schema, max_rows=None, usecols=lambda name: name in wanted)
    except (InvalidSubmission, ValueError) as error:
        raise CompetitionError(f"the sample submission {path} can't be read: {error}") from error


def _read(
    path: Path, schema: Schema, max_rows: int | None, usecols: Callable[[str], bool] | None = None
) -> pd.DataFrame:
    """Parse the file and keep the required columns; types as pandas decides them, ids and texts as text.

    All columns are parsed unless `usecols` chooses some: then pandas overlooks surplus cells in a row.

    Raises InvalidSubmission with all that is wrong with the form of the file.
    """
    header, width = _read_top(path)
    problems = list(_header_form_problems(header, schema))
    if width > len(header) + 1:  # out of two surplus cells or more pandas would make an index of many levels
        message = f"the first row has {width:,} cells"
        problems.append(Problem("not a table", message, f"{len(header):,} cells, as in the header"))
    if problems:
        raise InvalidSubmission(problems)
    try:
        table = read_csv_in_parts(
            path,
            **reading_options(schema),
            usecols=usecols,
            nrows=None if max_rows is None else max_rows + 1,
        )
    except (ValueError, OverflowError, pd.errors.ParserError) as error:  # UnicodeDecodeError is a ValueError
        raise InvalidSubmission([_parse_problem(error, schema)]) from error
    if max_rows is not None and len(table) > max_rows:
        raise InvalidSubmission([Problem("row count", f"there are more than {max_rows:,} rows", "one for each id")])
    # An index that pandas took from rows with one field more than the header is dropped, as v1 does.
    table = table.rename(columns=schema.usual_names).reset_index(drop=True)
    required = set(schema.names)
    return table[[name for name in table.columns if name in required]]  # graders may go by the file's order


def reading_options(schema: Schema) -> dict[str, Any]:
    """The options of `read_csv` that read a submission as the schema has it; the rest is pandas' decision."""
    formats = {column.name: cells.FORMATS.get(column.type) for column in schema.columns}
    types = {name: reader.dtype for name, reader in formats.items() if reader and reader.dtype}
    options = verbatim_options(schema)
    return {**options, "dtype": {**types, **options["dtype"]}}


def verbatim_options(schema: Schema) -> dict[str, Any]:
    """The options of `read_csv` that read ids and verbatim columns as text, and `NA` in the latter as itself."""
    formats = {column.name: cells.FORMATS.get(column.type) for column in schema.columns}
    verbatim = [name for name, reader in formats.items() if reader and reader.verbatim]
    types = dict.fromkeys([schema.id, *verbatim] if schema.id_type == "text" else verbatim, str)
    if not verbatim:
        return {"dtype": types}
    others = set(schema.names) - set(verbatim)
    return {"dtype": types, "keep_default_na": False, "na_values": dict.fromkeys(others, MISSING_WORDS)}


def _parse_problem(error: Exception, schema: Schema) -> Problem:
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError):
        return Problem("not text", f"the file is not UTF-8: {text}", "a CSV file in UTF-8")
    return Problem("not a table", f"the file can't be parsed: {text}", f"columns {', '.join(schema.names[:8])}")


def _read_top(path: Path) -> tuple[list[str], int]:
    """The names of the columns, repeated ones renamed as pandas does (`X`, `X.1`), and the cells of the first row.

    Raises InvalidSubmission if there is no header that can be parsed, or one of too many columns.
    """
    try:
        lines, columns, width = _measure_top(path)
        if columns > MAX_COLUMNS:
            wide = Problem("too many columns", f"the header has {columns:,} columns", f"at most {MAX_COLUMNS:,}")
            raise InvalidSubmission([wide])
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            text = StringIO("".join(islice(file, lines)))
        return [str(name) for name in read_csv(text, nrows=0).columns], width
    except (ValueError, csv.Error, pd.errors.ParserError) as error:
        raise InvalidSubmission([Problem("not a table", f"the header can't be parsed: {error}")]) from error


_CSV_LIMIT = Lock()  # the limit is the process's, and files may be validated in threads


def _measure_top(path: Path) -> tuple[int, int, int]:
    """How many lines the header ends after, its columns, and the cells of the first row; blank lines don't count.

    Raises csv.Error if a cell is too long.
    """
    with _CSV_LIMIT, path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        before = csv.field_size_limit(MAX_HEADER_BYTES)
        try:
            reader = csv.reader(file)
            rows = (row for row in reader if len(row) > 1 or any(map(str.strip, row)))
            columns, lines = len(next(rows, [])), reader.line_num
            csv.field_size_limit(MAX_LINE_BYTES)
            return lines, columns, len(next(rows, []))
        finally:
            csv.field_size_limit(before)


def _header_form_problems(header: Sequence[str], schema: Schema) -> Iterator[Problem]:
    expected = _short(", ".join(schema.names), 200)
    for alias, name in schema.usual_names.items():
        if {alias, name} <= set(header):
            yield Problem("repeated column", f"{alias} is another name for {name}, and both stand there", "one of them")
    header = [schema.usual_names.get(name, name) for name in header]
    present = set(header)
    missing = [name for name in schema.names if name not in present]
    if missing:
        yield Problem(
            "missing column",
            f"column{'s' if len(missing) > 1 else ''} {_listed(missing)} missing, the file has {_listed(header)}",
            f"columns {expected}",
            count=len(missing),
        )
    known = set(schema.names)
    extra = [name for name in header if name not in known]
    if extra and not schema.extra_columns:
        hint = " (an index? write the file without it)" if any(name.startswith("Unnamed:") for name in extra) else ""
        yield Problem(
            "extra column",
            f"unknown column{'s' if len(extra) > 1 else ''} {_listed(extra)}{hint}",
            f"only {expected}",
        )
    if not missing and schema.id_first and header[0] != schema.id:
        yield Problem("column order", f"the first column is {header[0]!r}", f"{schema.id!r} first")
    if not missing and schema.fixed_columns:
        places = zip([name for name in header if name in known], schema.names, strict=False)
        other = [f"{found!r} stands in the place of {name!r}" for found, name in places if found != name]
        if other:
            yield Problem("column order", f"{len(other)} columns are out of order: {other[0]}", f"columns {expected}")


# --- ids


def _id_problems(table: pd.DataFrame, sample: pd.DataFrame, schema: Schema) -> Iterator[Problem]:
    ids, known = _keys(table, schema), _keys(sample, schema)
    if schema.ids_may_repeat:  # then they may do so in the sample submission, too
        known = known.drop_duplicates()
    if len(table) == 0:
        yield Problem("no rows", "there is a header but no row", f"{len(sample):,} rows")
        return
    expected = "the ids of the sample submission" + ("" if schema.ids_may_repeat else ", each once")
    if schema.id_type == "integer" and not pd.api.types.is_integer_dtype(ids):
        numbers = cells.as_numbers(ids)
        wrong = ~np.isfinite(numbers) | (numbers != np.floor(numbers)) | pd.api.types.is_bool_dtype(ids)
        if wrong.any():
            yield row_problem("malformed id", f"{schema.id} is no whole number", wrong, ids, expected)
            return
        whole = np.clip(numbers, -(2.0**63), 2.0**63 - 1024).astype(np.int64)  # known ids are compared exactly
        ids = pd.Series(whole, name=schema.id)
    position = places_of(ids, known)
    unknown = position < 0
    if unknown.any():
        yield row_problem("unknown id", f"{schema.id} is not in the sample submission", unknown, ids, expected)
    if not schema.ids_may_repeat:
        repeated = pd.Series(position).duplicated().to_numpy(copy=True)  # compares numbers instead of texts
        repeated[unknown] = ids[unknown].duplicated().to_numpy()
        if repeated.any():
            yield row_problem("repeated id", f"{schema.id} stands there already", repeated, ids, expected)
    if not schema.ids_may_be_missing:
        absent = np.ones(len(known), dtype=bool)
        absent[position[~unknown]] = False
        if absent.any():
            lost = known[absent]
            yield Problem(
                "missing id",
                f"{len(lost):,} of {len(known):,} ids are missing",
                f"{len(known):,} ids",
                values=tuple(_short(value) for value in lost.iloc[:SHOWN]),
                count=len(lost),
            )
    if schema.fixed_order and len(ids) == len(known) and not unknown.any():
        misplaced = position != np.arange(len(ids))
        if misplaced.any() and not ids.duplicated().any():
            yield row_problem(
                "row order",
                f"{schema.id} stands in another place",
                misplaced,
                ids,
                "the order of the sample submission",
            )


def _keys(table: pd.DataFrame, schema: Schema) -> pd.Series:
    """What names each row: its id, or id and second key as one text."""
    if not schema.second_key:
        return table[schema.id]
    ids, others = cells.as_text(table[schema.id]), cells.as_text(table[schema.second_key])
    return (ids + ", " + others).rename(f"{schema.id}, {schema.second_key}")


def _warnings(table: pd.DataFrame, sample: pd.DataFrame, schema: Schema) -> Iterator[str]:
    if schema.ids_may_be_missing and len(table) < len(sample):
        yield (
            f"{len(sample) - len(table):,} of the {len(sample):,} ids of the sample submission are missing; "
            "the submission counts only if none of them is scored"
        )


# --- cells


def _cell_problems(table: pd.DataFrame, sample: pd.DataFrame, schema: Schema) -> Iterator[Problem]:
    if len(table) == 0:
        return
    for column in schema.columns:
        check = cells.find(column.type)
        context = cells.Context(column, table[schema.id], sample[schema.id], sample[column.name])
        for fault in check(table[column.name], context):
            yield row_problem(
                fault.kind, f"{column.name} {fault.message}", fault.rows, table[column.name], fault.expected
            )


def _with_numbers(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Columns of valid numbers that pandas left as objects, since one of them takes more than 64 bits, as floats."""
    names = [column.name for column in schema.columns if column.type == "number"]
    others = [name for name in names if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: cells.as_numbers(table[name]) for name in others}) if others else table


def _row_sum_problems(table: pd.DataFrame, schema: Schema) -> Iterator[Problem]:
    names = [column.name for column in schema.columns]
    sums = table[names].sum(axis=1)
    wrong = (sums - float(schema.row_sum or 0)).abs() > schema.row_sum_tolerance
    if wrong.any():
        yield row_problem(
            "row sum", "the columns of a row add up to something else", wrong, sums, f"{schema.row_sum:g}"
        )


def _short(value: Any, length: int = 80) -> str:
    text = repr(value) if isinstance(value, str) and length == 80 else str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def _listed(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    shown = ", ".join(_short(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


__all__ = [
    "Column",
    "Problem",
    "Schema",
    "Validation",
    "read_sample",
    "reading_options",
    "row_problem",
    "validate",
    "verbatim_options",
]
