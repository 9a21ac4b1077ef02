"""Arrays of NumPy's format whose rows are the examples: one of training rows, one of their answers, one of the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from . import metric
from .learn import Block, Problem, stages
from .models import portfolio
from .targets import FEW_VALUES, Target
from .task import Task
from .writing import write

MOST_FILES = 40
MOST_ROWS = 60_000


@dataclass(frozen=True)
class Arrays:
    """Where the training rows, their answers and the test rows are."""

    train: Path
    answers: Path
    test: Path


def applies(task: Task) -> bool:
    """Whether there is such a triple, and the sample has one answer a row."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Arrays | None:
    """The triple that fits the sample's number of rows; None if there is none."""
    paths = [path for path in task.files.paths if path.suffix.lower() == ".npy"]
    if not 3 <= len(paths) <= MOST_FILES:
        return None
    shapes = {path: np.load(path, mmap_mode="r").shape for path in paths}
    wide = {path: shape for path, shape in shapes.items() if len(shape) > 1}
    for test, shape in wide.items():
        if shape[0] != len(task.sample) or "train" in test.name.lower():
            continue
        for train, other in wide.items():
            answers = [path for path, own in shapes.items() if own in ((other[0],), (other[0], 1))]
            if train != test and other[1:] == shape[1:] and answers:
                return Arrays(train, answers[0], test)
    return None


def run(task: Task) -> Iterator[list[pd.DataFrame]]:
    """Learn from at most MOST_ROWS rows."""
    found = find(task)
    assert found is not None
    train, answers = np.load(found.train, mmap_mode="r"), np.load(found.answers).ravel()
    rows = np.arange(len(train))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(task.seed).choice(rows, MOST_ROWS, replace=False))
    matrix = np.asarray(train[rows], dtype=np.float32).reshape(len(rows), -1)
    test = np.asarray(np.load(found.test, mmap_mode="r"), dtype=np.float32).reshape(len(task.sample), -1)
    target = target_of(answers[rows], task)
    block = Block("array", matrix, test)
    clock = task.clock.part(min(0.9, (20 + 0.01 * len(rows)) / max(1.0, task.clock.left())))
    for learned in stages(target.problem, portfolio(target.problem, [block]), clock):
        print(f"  {learned.name}: loss {learned.loss:.5f} {learned.parts or ''}", flush=True)
        yield write(task, target, replace(target.problem, y=target.problem.y[learned.rows]), learned)


def target_of(answers: np.ndarray, task: Task) -> Target:
    """The answers as classes if they are texts or few whole numbers, else as numbers."""
    rows = np.arange(len(answers))
    numbers = pd.to_numeric(pd.Series(answers), errors="coerce").to_numpy(float)
    few = len(np.unique(answers)) <= max(FEW_VALUES, len(answers) // 10)
    if np.isnan(numbers).any() or (few and task.metric not in metric.FOR_NUMBERS and (numbers % 1 == 0).all()):
        codes, names = pd.factorize(pd.Series(answers).astype("string"), sort=True)
        problem = Problem("classes", codes, len(names), metric.loss_of_classes(task.metric), task.seed)
        return Target(problem, rows, tuple(map(str, names)))
    return Target(Problem("numbers", numbers[:, None], 1, metric.loss_of_numbers(task.metric), task.seed), rows)
