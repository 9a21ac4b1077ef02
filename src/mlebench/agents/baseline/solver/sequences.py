"""Several numbers for each position of sequences, which JSON lines describe by texts of equal length."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import metric
from .learn import Block, Problem, learn
from .models import BOOSTING, BOOSTING_QUICK, LINEAR
from .task import Task

REACH = 5
WINDOW = 10
SUFFIXES = {".json", ".jsonl"}


@dataclass(frozen=True)
class Sequences:
    """The training and test rows, and the keys that matter."""

    train: list[dict]
    test: dict[str, dict]
    texts: tuple[str, ...]  # keys of texts with a character for each position


def applies(task: Task) -> bool:
    """Whether ids are `<sequence>_<position>` and a file of JSON lines has lists of the targets."""
    ids = task.sample[task.id].head(20)
    return bool(ids.str.match(r".+_\d+$").all()) and find(task) is not None


def find(task: Task) -> Sequences | None:
    """The rows of the JSON lines files; None if they are of another kind."""
    wanted = set(task.sample[task.id].str.rsplit("_", n=1).str[0])
    train, test = None, None
    for path in task.files.paths:
        if path.suffix.lower() not in SUFFIXES or len(task.files.relative(path).parts) > 2:
            continue
        rows = json_lines(path)
        if rows and all(isinstance(rows[0].get(target), list) for target in task.targets):
            train = rows
        elif rows:
            test = next((by_id for key in rows[0] if wanted <= set(by_id := {str(r.get(key)): r for r in rows})), test)
    if not train or not test:
        return None
    first = next(iter(test.values()))
    longest = max((len(value) for value in first.values() if isinstance(value, str)), default=0)
    texts = tuple(
        k for k, v in first.items() if isinstance(v, str) and len(v) == longest and isinstance(train[0].get(k), str)
    )
    return Sequences(train, test, texts)


def json_lines(path: Path) -> list[dict]:
    """The rows of a file with one JSON object a line; none if it is another kind of file."""
    rows = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                return []
            if not isinstance(row, dict):
                return []
            rows.append(row)
    return rows


def run(task: Task) -> list[pd.DataFrame]:
    """Learn each target from the characters around a position and around its partner in brackets."""
    found = find(task)
    assert found is not None
    letters = {
        key: sorted({c for row in [*found.train, *found.test.values()] for c in row[key]}) for key in found.texts
    }
    matrices, answers, groups = [], [], []
    for number, row in enumerate(found.train):
        scored = len(row[task.targets[0]])
        matrices.append(features(row, found.texts, letters)[:scored])
        answers.append(np.array([row[target] for target in task.targets], dtype=float).T)
        groups.append(np.full(scored, number))
    tests = {name: features(row, found.texts, letters) for name, row in found.test.items()}
    pairs = task.sample[task.id].str.rsplit("_", n=1)
    test = np.stack([tests[name][int(place)] for name, place in pairs])
    y = np.vstack(answers)
    problem = Problem("numbers", y, y.shape[1], metric.loss_of_numbers(task.metric), task.seed, np.concatenate(groups))
    block = Block("positions", np.vstack(matrices), test)
    clock = task.clock.part(min(0.9, (20 + 0.0005 * y.size) / max(1.0, task.clock.left())))
    learned = learn(problem, [(block, LINEAR), (block, BOOSTING_QUICK), (block, BOOSTING)], clock)
    print(f"  blend: loss {learned.loss:.5f} {learned.parts}", flush=True)
    return [pd.DataFrame(learned.test, columns=task.targets)]


def features(row: dict, texts: tuple[str, ...], letters: dict[str, list[str]]) -> np.ndarray:
    """For each position: indicators of the characters near it and near its partner, shares nearby, and the place."""
    length = len(row[texts[0]])
    places = np.arange(length)
    partner = partners(row, texts)
    parts = [places[:, None], (length - places)[:, None], (partner >= 0)[:, None], np.abs(partner - places)[:, None]]
    for key in texts:
        indicator = np.array([[c == letter for letter in letters[key]] for c in row[key]], dtype=np.float32)
        padded = np.pad(indicator, ((WINDOW, WINDOW), (0, 0)))
        parts += [padded[WINDOW + step : WINDOW + step + length] for step in range(-REACH, REACH + 1)]
        total = np.cumsum(np.vstack([np.zeros((1, len(letters[key]))), padded]), axis=0)
        parts.append((total[2 * WINDOW + 1 :] - total[: -2 * WINDOW - 1]) / (2 * WINDOW + 1))
        for step in (-1, 0, 1):
            at = np.clip(partner + step, 0, length - 1)
            parts.append(np.where((partner >= 0)[:, None], indicator[at], 0))
    return np.hstack(parts).astype(np.float32)


def partners(row: dict, texts: tuple[str, ...]) -> np.ndarray:
    """For each position the place of the bracket that closes or opens it; -1 for none."""
    found = np.full(len(row[texts[0]]), -1)
    brackets = next((row[key] for key in texts if set(row[key]) <= set("().") and "(" in row[key]), "")
    opened: list[int] = []
    for place, character in enumerate(brackets):
        if character == "(":
            opened.append(place)
        elif character == ")" and opened:
            other = opened.pop()
            found[place], found[other] = other, place
    return found
