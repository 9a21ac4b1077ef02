"""What was recognised about a competition from its public files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from . import metric, naming
from .clock import Clock
from .files import ARRAYS, IMAGES, NOTES, SOUNDS, TABLE, Files, read_table, read_text_table, share_found
from .joining import TestTable, find_test
from .unpacking import lay_out

INPUTS = (SOUNDS, IMAGES, ARRAYS, NOTES)
ANSWER_WORDS = re.compile(r"class|categor|label|target|species|answer|score", re.IGNORECASE)


@dataclass(frozen=True)
class Labels:
    """The table that holds the answers of the training rows, and how they relate to the sample's columns.

    `form`: "columns" (it has the sample's own columns), "class" (one column whose values are the sample's
    columns), "lists" (one column of lists of the sample's columns) or "renamed" (one column under another
    name than the sample's).
    """

    path: Path
    id: str | None
    columns: tuple[str, ...]
    form: str


class Task:
    """The sample submission, the tables and files beside it, and the metric that the description names."""

    def __init__(self, data: Path, clock: Clock, seed: int = 0, scratch: Path | None = None) -> None:
        self.data, self.clock, self.seed, self.scratch = data, clock, seed, scratch
        description = data / "description.md"
        self.description = description.read_text(encoding="utf-8") if description.is_file() else ""
        self.metric = metric.infer(self.description)
        try:
            self.sample_path = find_sample(Files(data), self.description)
        except LookupError:
            self.sample_path = find_sample(self.files, self.description)
        self.sample = read_text_table(self.sample_path)

    def with_sample(self, sample: pd.DataFrame, ids: list[str], labels: Labels) -> Task:
        """The same task with other rows to predict and without a test table."""
        other = copy(self)
        for name in ("test", "test_texts", "train", "train_texts", "sample_numbers", "_test_columns"):
            other.__dict__.pop(name, None)
        other.sample = sample
        other.__dict__.update(ids=ids, labels=labels, test_table=None)
        return other

    @cached_property
    def files(self) -> Files:
        """The public files, and what was packed in them."""
        if self.scratch is None:
            return Files(self.data)
        folder = self.scratch / "laid_out"
        lay_out(self.data, folder, self.clock.part(0.3))
        return Files(self.data, folder)

    @cached_property
    def ids(self) -> list[str]:
        """The sample's columns that identify a row: those whose cells a test table has, else the first with a name."""
        if self.test_table is not None and self.test_table.ids:
            return [*(c for c in self.sample.columns if nameless(c)), *self.test_table.ids]
        named = [str(column) for column in self.sample.columns if not nameless(column)]
        return [*(str(column) for column in self.sample.columns if nameless(column)), named[0]]

    @property
    def id(self) -> str:
        """The last of the sample's columns that identify a row; usually there is one."""
        return next((name for name in self.ids if not nameless(name)), self.ids[0])

    @property
    def targets(self) -> list[str]:
        """The sample's columns that are to be predicted."""
        return [str(column) for column in self.sample.columns if column not in self.ids]

    @cached_property
    def tables(self) -> dict[Path, pd.DataFrame]:
        """The heads of the other tables."""
        return {path: head for path, head in self.files.tables.items() if path != self.sample_path}

    @property
    def side_tables(self) -> dict[Path, pd.DataFrame]:
        """The tables that are neither the sample nor the test table."""
        others = {path: head for path, head in self.tables.items() if not looks_like_sample(path)}
        return {path: head for path, head in others.items() if path != self.test_path}

    @cached_property
    def test_table(self) -> TestTable | None:
        """The table with a row for each row of the sample."""
        others = {path: head for path, head in self.tables.items() if not looks_like_sample(path)}
        return find_test(self.sample, others)

    @property
    def test_path(self) -> Path | None:
        """Where the test table is."""
        return self.test_table.path if self.test_table else None

    @cached_property
    def labels(self) -> Labels | None:
        """Where the training answers are; None if they weren't recognised."""
        tables = [(path, head) for path, head in self._training_tables() if len(head) > 1]
        for path, head in tables:
            if set(self.targets) <= set(head.columns):
                return Labels(path, self._id_of(head), tuple(self.targets), "columns")
        for path, head in tables:
            column = self._class_column(head)
            if column is not None:
                return Labels(path, self._id_of(head), (column,), "class")
        for path, head in tables:
            column = self._list_column(head)
            if column is not None:
                return Labels(path, self._id_of(head), (column,), "lists")
        return (self._renamed(tables) or self._named_files()) if len(self.targets) == 1 else None

    def _training_tables(self) -> list[tuple[Path, pd.DataFrame]]:
        """The tables that may hold answers, those named for it first, then those that are not deep."""

        def order(item: tuple[Path, pd.DataFrame]) -> tuple[bool, int]:
            return "train" not in self.files.relative(item[0]).as_posix().lower(), len(
                self.files.relative(item[0]).parts
            )

        tables = sorted(self.tables.items(), key=order)
        return [(path, head) for path, head in tables if path != self.test_path and not looks_like_sample(path)]

    @cached_property
    def _test_columns(self) -> set[str]:
        return set(self.tables[self.test_path].columns) if self.test_path else set()

    def _id_of(self, head: pd.DataFrame) -> str | None:
        """The column of a training table that identifies its rows."""
        if self.id in head.columns:
            return self.id
        if self.test_table is not None:
            for theirs, ours in self.test_table.names.items():
                if ours == self.id and theirs in head.columns:
                    return theirs
        return self.file_column(head, "train")

    def file_column(self, table: pd.DataFrame, role: str) -> str | None:
        """The column whose cells name files (ids if possible); None if there is none."""
        known = {names for names in (self.id, *(self.test_table.names if self.test_table else ())) if names}
        for column in sorted(map(str, table.columns), key=lambda name: name not in known):
            cells = table[column].dropna().astype("string")
            if len(cells) and cells.head(100).nunique() > 0.3 * min(100, len(cells)):
                for kinds in INPUTS:
                    if share_found(self.files.of_ids(cells.head(50).tolist(), kinds, role)) > 0.9:
                        return column
        return None

    def _class_column(self, head: pd.DataFrame) -> str | None:
        """The column whose values are names of the sample's columns."""
        names = set(self.targets)
        for column in head.columns:
            values = set(head[column])
            if len(names) > 1 and len(values) > 1 and column not in self._test_columns and values <= names:
                return str(column)
        return None

    def _list_column(self, head: pd.DataFrame) -> str | None:
        """The column whose values are lists of names of the sample's columns."""
        names = set(self.targets)
        for column in head.columns if len(names) > 2 else ():
            tokens = {token for cell in head[column] for token in cell.split(",")}
            if len(tokens) > 1 and tokens <= names:
                return str(column)
        return None

    def _renamed(self, tables: Sequence[tuple[Path, pd.DataFrame]]) -> Labels | None:
        """The column that is most likely the answer under another name, of those that the test table lacks."""
        best: tuple[float, Labels | None] = (1.0, None)
        for path, head in tables:
            key = self._id_of(head)
            if key is None and not (self._test_columns & set(head.columns)):
                continue
            extra = [str(c) for c in head.columns if c not in self._test_columns and c not in (key, self.id)]
            for column in extra:
                points = self._likeness_to_target(column, head[column]) + 2 * (len(extra) == 1) - 2 * (key is None)
                if points > best[0]:
                    best = points, Labels(path, key, (column,), "renamed")
        return best[1]

    def _likeness_to_target(self, column: str, cells: pd.Series) -> float:
        """How much speaks for a column to be the answer: its name, its cells, the description."""
        if cells.nunique() < 2 or re.search(r"path|url|date|file", column, re.IGNORECASE):
            return 0.0
        own, given = words(column), words(self.targets[0])
        known = set(cells)
        tokens = {token for cell in self.sample[self.targets[0]].head(200) for token in (cell, *cell.split())}
        told = re.search(rf"`{re.escape(column)}`[^\n]{{0,80}}\btarget", self.description)
        return 2.0 * bool(own & given) + bool(tokens & known) + bool(ANSWER_WORDS.search(column)) + 2.0 * bool(told)

    def _named_files(self) -> Labels | None:
        """Answers in the names of files, written as a table."""
        if self.scratch is None:
            return None
        names = {part for name in self.sample[self.id] for part in (name, name.rsplit(".", 1)[0])}
        table = naming.labelled_files(self.files, names)
        if table is None:
            return None
        if numeric(self.sample[self.targets[0]]) and not numeric(table["class"]):
            yes = naming.positives(table["class"].tolist(), self.targets[0], self.description)
            print(f"  names of files: 1 is {yes}", flush=True)
            table["class"] = table["class"].isin(yes).astype(int)
        path = self.scratch / "labels_from_names.csv"
        table.to_csv(path, index=False)
        self.tables[path] = table.head(300).astype("string")
        return Labels(path, "path", ("class",), "renamed")

    @cached_property
    def train(self) -> pd.DataFrame:
        """The training table; ids and answers as text where they are no plain numbers."""
        labels = self._required_labels()
        table = read_table(labels.path, [labels.id] if labels.id else [])
        for column in labels.columns:
            table = table[table[column].notna()] if table[column].notna().any() else table
        return table.reset_index(drop=True)

    @cached_property
    def train_texts(self) -> pd.DataFrame:
        """The training table with all cells as text, empty ones as empty text."""
        return read_text_table(self._required_labels().path)

    @cached_property
    def test_texts(self) -> pd.DataFrame:
        """The test table with all cells as text, in the sample's order."""
        if self.test_table is None:
            return self.sample[self.ids]
        return self.test_table.beside(self.sample, read_text_table(self.test_table.path))

    @cached_property
    def test(self) -> pd.DataFrame:
        """A row for each row of the sample, in its order."""
        if self.test_table is None:
            return self.sample[self.ids]
        return self.test_table.beside(self.sample, read_table(self.test_table.path, self.test_table.texts, 1 << 40))

    def _required_labels(self) -> Labels:
        if self.labels is None:
            raise LookupError("no table with training answers was recognised")
        return self.labels

    @cached_property
    def sample_numbers(self) -> np.ndarray:
        """The sample's predictions as numbers (rows, targets), NaN where they are none."""
        return self.sample[self.targets].apply(pd.to_numeric, errors="coerce").to_numpy(float)


def nameless(column: object) -> bool:
    """Whether a column is the numbering that some tables begin with."""
    return str(column).startswith("Unnamed") or not str(column).strip()


def numeric(values: pd.Series) -> bool:
    """Whether all cells are numbers."""
    return bool(pd.to_numeric(values, errors="coerce").notna().all())


def words(name: str) -> set[str]:
    """The words of a column's name that mean something, in lower case and without the s of a plural."""
    found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return {word.lower().rstrip("s") for word in found} - {"id", "i", ""}


def looks_like_sample(path: Path) -> bool:
    """Whether a file is named like a sample submission."""
    return "sample" in path.name.lower() and "submission" in path.name.lower()


def find_sample(files: Files, description: str) -> Path:
    """The sample submission: by name, else by the columns of the description's example. LookupError if none."""
    tables = [path for path in files.paths if TABLE.search(path.name)]
    depth = {path: len(path.parts) for path in tables}
    for pattern in (r"^sample_submission\.csv$", r"sample.*submission|submission.*sample", r"sample"):
        named = [path for path in tables if re.search(pattern, path.name, re.IGNORECASE)]
        if named:
            return min(named, key=depth.__getitem__)
    example = re.search(r"```(?:csv)?\s*\n([^\n`]+)\n", description)
    header = [name.strip().strip('"') for name in example.group(1).split(",")] if example else []
    options = {path: list(head.columns) for path, head in files.tables.items()}
    options |= {path: first_line(path) for path in files.paths if path.suffix.lower() == ".txt"}
    matching = [path for path, columns in options.items() if columns == header and not re.search("train", path.name)]
    if not matching:
        raise LookupError("there is no sample submission")
    return min(matching, key=lambda path: not re.search(r"predict|submission|example", path.name, re.IGNORECASE))


def first_line(path: Path) -> list[str]:
    """The cells of a file's first line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return [cell.strip().strip('"') for cell in file.readline(10_000).split(",")]
