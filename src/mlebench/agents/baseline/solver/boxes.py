"""Boxes with classes and confidences for each picture, from the pictures' features and the usual boxes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from . import media, metric
from .learn import Problem, learn, threads
from .models import FOREST, LINEAR_COMPONENTS
from .task import Task

NUMBERS = re.compile(r"^\s*(-?\d+(\.\d+)?\s*)+$")
FEWEST = 5  # boxes of a class to learn where they are
SIDES = (
    ("x_?min|left|x_?1|xtl", "y_?min|top|y_?1|ytl", "x_?max|right|x_?2|xbr", "y_?max|bottom|y_?2|ybr"),
    ("x|x_?center", "y|y_?center", "w|width", "h|height"),
)


@dataclass(frozen=True)
class Boxes:
    """The training table of boxes: names of its columns, and how a prediction is written."""

    table: pd.DataFrame
    image: str
    kind: str | None  # the column of classes, None if there is one kind only
    sides: list[str]
    empty: str  # what stands for a picture without boxes, after class and confidence


def applies(task: Task) -> bool:
    """Whether the answers are lists of numbers and a table has boxes of pictures."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Boxes | None:
    """The table of boxes; None if there is none."""
    cells = [str(cell) for cell in task.sample[task.targets[0]]]
    written = [cell for cell in cells if cell]
    if not all(NUMBERS.match(cell) for cell in written):
        return None
    for path, head in task.tables.items():
        if task.id not in head.columns:
            continue
        for patterns in SIDES:
            named = [[c for c in head.columns if re.fullmatch(pattern, c, re.IGNORECASE)] for pattern in patterns]
            if all(len(names) == 1 for names in named):
                table = pd.read_csv(path, dtype={task.id: str})
                return _described(task, table, [names[0] for names in named], written)
    return None


def _described(task: Task, table: pd.DataFrame, sides: list[str], written: list[str]) -> Boxes:
    """How many numbers a box has says whether classes are written; the class is the column that the numbers name."""
    size = len(written[0].split()) if written else 5
    kinds = [c for c in table.columns if c not in (*sides, task.id) and pd.api.types.is_integer_dtype(table[c])]
    kinds.sort(key=lambda name: not re.search("class|label|category", name, re.IGNORECASE))
    kind = kinds[0] if kinds and size % 6 == 0 else None
    empty = " ".join(written[0].split()[-4:]) if kind else ""
    return Boxes(table, task.id, kind, sides, empty)


def run(task: Task) -> list[pd.DataFrame]:
    """For each class: how likely a picture has it, and where."""
    boxes = find(task)
    assert boxes is not None
    table = boxes.table.assign(**({} if boxes.kind else {"only": 0}))
    kind = boxes.kind or "only"
    train, test = sorted(set(table[boxes.image])), task.sample[task.id].tolist()
    found = media.find_block(task.files, train, test, task.clock.part(0.5), task.seed)
    if found is None:
        raise LookupError("the pictures of the boxes were not found")
    block, rows = found
    train = [train[row] for row in rows]
    kinds = sorted(set(table[kind]))
    present = table.groupby([boxes.image, kind]).size().unstack(fill_value=0).reindex(train)[kinds] > 0
    problem = Problem("labels", present.to_numpy(int), len(kinds), metric.loss_of_labels("log loss"), task.seed)
    clock = task.clock.part(min(0.6, 30 / max(1.0, task.clock.left())))
    learned = learn(problem, [(block, FOREST), (block, LINEAR_COMPONENTS)], clock)
    print(f"  blend: loss {learned.loss:.5f} {learned.parts}", flush=True)
    sizes = picture_sizes(block.test)
    lines: list[list[tuple[float, str]]] = [[] for _ in test]
    for column, name in enumerate(kinds):
        places = relative(table[table[kind] == name].dropna(subset=boxes.sides), boxes, train, block.train)
        confidences = learned.test[:, column]
        for row, (share, place) in enumerate(zip(confidences, where(places, block, task.seed), strict=True)):
            numbers = boxes.empty if place is None else " ".join(f"{v:.1f}" for v in place * np.tile(sizes[row], 2))
            prefix = f"{name} " if boxes.kind else ""
            lines[row].append((float(share), f"{prefix}{share:.4f} {numbers}"))
    texts = [" ".join(text for _, text in sorted(line, reverse=True)) for line in lines]
    return [pd.DataFrame({task.targets[0]: texts})]


def picture_sizes(features: np.ndarray) -> np.ndarray:
    """Width and height of each picture, which are the first features as logarithms; the usual where unreadable."""
    sizes = np.exp(features[:, :2])
    return np.where(np.isfinite(sizes), sizes, np.nanmedian(sizes, axis=0))


def relative(
    table: pd.DataFrame, boxes: Boxes, train: list[str], features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The pictures (rows of `features`) that have boxes of a class, and the mean box as shares of width and height."""
    mean = table.groupby(boxes.image)[boxes.sides].mean()
    rows = np.array([row for row, name in enumerate(train) if name in mean.index], dtype=int)
    if not len(rows):
        return rows, np.zeros((0, 4))
    sizes = np.tile(np.exp(features[rows, :2]), 2)
    return rows, mean.loc[[train[row] for row in rows]].to_numpy(float) / sizes


def where(places: tuple[np.ndarray, np.ndarray], block: media.Block, seed: int) -> list[np.ndarray | None]:
    """For each test picture a class's box as shares of width and height; None if the class has no boxes."""
    from sklearn.ensemble import ExtraTreesRegressor

    rows, shares = places
    count = block.test.shape[0]
    if not len(rows):
        return [None] * count
    if len(rows) < FEWEST:
        return [np.median(shares, axis=0)] * count
    matrix = np.nan_to_num(block.train)
    with threads(len(rows)):
        model = ExtraTreesRegressor(80, min_samples_leaf=3, max_features=0.3, random_state=seed)
        predicted = model.fit(matrix[rows], shares).predict(np.nan_to_num(block.test))
    return list(predicted)
