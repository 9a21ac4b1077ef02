"""What was recognised about a competition from its public files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from . import metric
from .clock import Clock
from .files import IMAGES, NOTES, SOUNDS, TABLE, Files, read_table, read_text_table, share_found


@dataclass(frozen=True)
class Labels:
    """The table that holds the answers of the training rows, and how they relate to the sample's columns.

    `form`: "columns" (it has the sample's own columns), "class" (one column whose values are the sample's
    columns) or "renamed" (one column that the test table lacks, under another name than the sample's).
    """

    path: Path
    id: str | None
    columns: tuple[str, ...]
    form: str


class Task:
    """The sample submission, the tables and files beside it, and the metric that the description names."""

    def __init__(self, data: Path, clock: Clock, seed: int = 0) -> None:
        self.data, self.clock, self.seed = data, clock, seed
        description = data / "description.md"
        self.description = description.read_text(encoding="utf-8") if description.is_file() else ""
        self.metric = metric.infer(self.description)
        self.files = Files(data)
        self.sample_path = find_sample(self.files, self.description)
        self.sample = read_text_table(self.sample_path)

    @cached_property
    def ids(self) -> list[str]:
        """The sample's columns that identify a row: the first, and others whose cells the test table has."""
        return [str(self.sample.columns[0])]

    @property
    def id(self) -> str:
        """The first column of the sample."""
        return self.ids[0]

    @property
    def targets(self) -> list[str]:
        """The sample's columns that are to be predicted."""
        return [str(column) for column in self.sample.columns if column not in self.ids]

    @cached_property
    def tables(self) -> dict[Path, pd.DataFrame]:
        """The heads of the other tables."""
        return {path: head for path, head in self.files.tables.items() if path != self.sample_path}

    @cached_property
    def test_path(self) -> Path | None:
        """The table with a row for each id of the sample, and without answers."""
        wanted = set(self.sample[self.id].head(50))
        for path, head in sorted(self.tables.items(), key=lambda item: "test" not in item[0].name.lower()):
            if self.id in head.columns and not set(self.targets) & set(head.columns):
                known = set(head[self.id])
                if not wanted <= known:
                    known = set(read_table(path, [self.id])[self.id])
                if wanted <= known:
                    return path
        return None

    @cached_property
    def labels(self) -> Labels | None:
        """Where the training answers are; None if they weren't recognised."""
        by_name = sorted(self.tables.items(), key=lambda item: "train" not in item[0].name.lower())
        tables = [(path, head) for path, head in by_name if path != self.test_path and not looks_like_sample(path)]
        for path, head in tables:
            if set(self.targets) <= set(head.columns):
                return Labels(path, self._id_of(head), tuple(self.targets), "columns")
        for path, head in tables:
            column = self._class_column(head)
            if column is not None:
                return Labels(path, self._id_of(head), (column,), "class")
        for path, head in tables:
            extra = [column for column in head.columns if column not in self._test_columns and column != self.id]
            if len(self.targets) == 1 and len(extra) == 1 and self._id_of(head):
                return Labels(path, self._id_of(head), (extra[0],), "renamed")
        return None

    @cached_property
    def _test_columns(self) -> set[str]:
        return set(self.tables[self.test_path].columns) if self.test_path else set()

    def _id_of(self, head: pd.DataFrame) -> str | None:
        """The column of a training table that identifies its rows."""
        if self.id in head.columns:
            return self.id
        for column in head.columns:
            if share_found(self.files.of_ids(list(head[column].head(50)), IMAGES | SOUNDS | NOTES, "train")) > 0.9:
                return str(column)
        return None

    def _class_column(self, head: pd.DataFrame) -> str | None:
        """The column whose values are names of the sample's columns."""
        names = set(self.targets)
        for column in head.columns:
            values = set(head[column])
            if len(names) > 1 and len(values) > 1 and column not in self._test_columns and values <= names:
                return str(column)
        return None

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
        ids = self.sample[[self.id]]
        if self.test_path is None:
            return ids
        return ids.merge(read_text_table(self.test_path).drop_duplicates(self.id), on=self.id, how="left")

    @cached_property
    def test(self) -> pd.DataFrame:
        """A row for each row of the sample, in its order."""
        ids = self.sample[[self.id]]
        if self.test_path is None:
            return ids
        table = read_table(self.test_path, [self.id], max_bytes=1 << 40)
        return ids.merge(table.drop_duplicates(self.id), on=self.id, how="left")

    def _required_labels(self) -> Labels:
        if self.labels is None:
            raise LookupError("no table with training answers was recognised")
        return self.labels

    @cached_property
    def sample_numbers(self) -> np.ndarray:
        """The sample's predictions as numbers (rows, targets), NaN where they are none."""
        return self.sample[self.targets].apply(pd.to_numeric, errors="coerce").to_numpy(float)


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
    header = [name.strip() for name in example.group(1).split(",")] if example else []
    for path, head in files.tables.items():
        if list(head.columns) == header:
            return path
    raise LookupError("there is no sample submission")
