"""A probability for each pair of a recording (or picture …) and a class, whose labels stand in ragged lines."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import media
from .files import IMAGES, SOUNDS
from .learn import Block, Problem, learn
from .models import portfolio
from .task import Task

BASES = (10, 100, 1000, 10_000)
HIDDEN = {"?", "", "nan"}
TEXTS = {".txt", ".csv"}
MOST_BYTES = 50 << 20


@dataclass(frozen=True)
class Pairs:
    """The sample's rows as pairs, and the classes of each thing that is labelled."""

    things: list[str]  # of each row of the sample
    classes: list[str]  # of each row of the sample
    labels: dict[str, set[str]]


def applies(task: Task) -> bool:
    """Whether the sample's ids are all pairs of things and classes, and some file lists the things' classes."""
    return len(task.targets) == 1 and task.labels is None and find_pairs(task) is not None


def find_pairs(task: Task) -> Pairs | None:
    """Split the ids into pairs and find the labels; None if either fails."""
    for things, classes in splits(task.sample[task.id].tolist()):
        named = set(classes)
        if 1 < len(named) < len(things) and len(set(things)) * len(named) == len(
            set(zip(things, classes, strict=True))
        ):
            labels = find_labels(task, set(things), named)
            if labels:
                return Pairs(things, classes, labels)
    return None


def splits(ids: list[str]) -> list[tuple[list[str], list[str]]]:
    """Ways to read ids as pairs: `thing_class`, or thing · base + class."""
    if all("_" in name for name in ids):
        parts = [name.rsplit("_", 1) for name in ids]
        return [([part[0] for part in parts], [part[1] for part in parts])]
    if not all(name.isdigit() for name in ids):
        return []
    numbers = [int(name) for name in ids]
    return [([str(n // base) for n in numbers], [str(n % base) for n in numbers]) for base in BASES]


def ragged(path: Path) -> list[list[str]]:
    """The lines of a small text file as cells; none if it is large or no text."""
    if path.suffix.lower() not in TEXTS or path.stat().st_size > MOST_BYTES:
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        return []


def find_labels(task: Task, things: set[str], classes: set[str]) -> dict[str, set[str]]:
    """From the file whose lines are a thing and its classes, and which hides those of the sample's things."""
    for path in task.files.paths:
        if path == task.sample_path or path.name == "description.md":
            continue
        rows = {row[0]: [cell for cell in row[1:] if cell] for row in ragged(path)[1:]}
        known = {thing: cells for thing, cells in rows.items() if thing not in things}
        hidden = [rows.get(thing, ["?"]) for thing in things]
        found = {cell for cells in known.values() for cell in cells}
        if len(found) > 1 and found <= classes and all(set(cells) <= HIDDEN for cells in hidden):
            return {thing: set(cells) for thing, cells in known.items()}
    return {}


def run(task: Task) -> list[pd.DataFrame]:
    """Learn each class from the things' sounds or pictures and from the numbers that are listed for them."""
    pairs = find_pairs(task)
    assert pairs is not None
    train, test = sorted(pairs.labels), sorted(set(pairs.things))
    names = sorted(set(pairs.classes))
    blocks = []
    listed = listed_numbers(task, train, test)
    if listed is not None:
        blocks.append(listed)
    files = file_names(task, set(train) | set(test))
    found = media.find_block(
        task.files, [files.get(t, t) for t in train], [files.get(t, t) for t in test], task.clock.part(0.4), task.seed
    )
    rows = np.arange(len(train))
    if found is not None:
        block, rows = found
        blocks = [block, *(other.rows(rows) for other in blocks)]
    y = np.array([[name in pairs.labels[train[row]] for name in names] for row in rows]).astype(int)
    problem = Problem("labels", y, len(names), pooled_loss, task.seed)
    learned = learn(problem, portfolio(problem, blocks), task.clock.part(min(0.9, 40 / max(1.0, task.clock.left()))))
    print(f"  blend: loss {learned.loss:.5f} {learned.parts}", flush=True)
    places = {thing: row for row, thing in enumerate(test)}, {name: column for column, name in enumerate(names)}
    values = [learned.test[places[0][t], places[1][c]] for t, c in zip(pairs.things, pairs.classes, strict=True)]
    return [pd.DataFrame({task.targets[0]: np.clip(values, 0, 1)})]


def pooled_loss(y: np.ndarray, p: np.ndarray) -> float:
    """1 minus the area under the ROC curve over all pairs together."""
    from sklearn.metrics import roc_auc_score

    return 1 - float(roc_auc_score(y.ravel(), p.ravel()))


def file_names(task: Task, things: set[str]) -> dict[str, str]:
    """For each thing the stem of its file, from a file that lists both."""
    stems = {path.stem for path in task.files.paths if path.suffix.lower() in IMAGES | SOUNDS}
    for path in task.files.paths:
        rows = [row for row in ragged(path)[1:] if row[0] in things and len(row) > 1]
        for column in range(1, 4):
            named = {row[0]: Path(row[column]).stem for row in rows if len(row) > column}
            matching = {thing: name for thing, name in named.items() if name in stems}
            if len(matching) > 0.9 * len(things):
                return matching
            plain = {row[0]: row[column] for row in rows if len(row) > column and row[column] in stems}
            if len(plain) > 0.9 * len(things):
                return plain
    return {}


def listed_numbers(task: Task, train: list[str], test: list[str]) -> Block | None:
    """Numbers that files list for the things; of several lines the count, the means and the largest."""
    parts = []
    for path in task.files.paths:
        rows = [row for row in ragged(path)[1:] if len(row) > 3]
        if not {row[0] for row in rows} & set(test) or path == task.sample_path:
            continue
        width = min(len(row) for row in rows)
        try:
            table = pd.DataFrame(
                [[float(cell) for cell in row[1:width]] for row in rows], index=[row[0] for row in rows]
            )
        except ValueError:
            continue
        grouped = table.groupby(level=0)
        count = grouped.size().rename("count")
        parts.append(pd.concat([count, grouped.mean(), grouped.max()], axis=1).reindex([*train, *test]).to_numpy(float))
    if not parts:
        return None
    matrix = np.nan_to_num(np.hstack(parts))
    return Block("listed numbers", matrix[: len(train)], matrix[len(train) :])
