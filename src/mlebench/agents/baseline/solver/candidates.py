"""Which of the listed passages of a text answers a question, if any: JSON lines with a list of candidates each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .clock import Clock
from .learn import Estimator, threads
from .task import Task

TRAIN_ROWS = 4_000
MOST_CANDIDATES = 60
HELD_OUT = 0.3
FIRST_WORDS = 12
Row = dict


@dataclass(frozen=True)
class Passages:
    """The files, the keys that matter, and the word behind the ids of the rows that ask for a passage."""

    train: Path
    test: Path
    key: str  # of the id
    listed: str  # of the candidates
    ends: tuple[str, str]  # the candidates' keys of first word and end
    kind: str


def applies(task: Task) -> bool:
    """Whether ids are `<row>_<kind>`, and JSON lines have candidates and, in training, an answer of that kind."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Passages | None:
    """The two files; None if there are none."""
    ids = task.sample[task.id]
    if not ids.str.contains("_").all():
        return None
    parts = ids.str.rsplit("_", n=1, expand=True)
    wanted, kinds = set(parts[0]), sorted(set(parts[1]))
    heads = {path: next(rows(path), {}) for path in task.files.paths if path.suffix.lower() == ".jsonl"}
    for test, head in heads.items():
        key = next((key for key, value in head.items() if str(value) in wanted), None)
        listed = next((key for key, value in head.items() if is_list_of_spans(value)), None)
        for train, other in heads.items():
            if key is None or listed is None or train == test or not is_list_of_spans(other.get(listed)):
                continue
            first: dict[str, int] = {name: value for name, value in other[listed][0].items() if type(value) is int}
            start, end = sorted(first, key=first.__getitem__)[:2]
            kind = next((kind for kind in kinds if answer_of(other, kind, (start, end)) is not None), None)
            if kind is not None:
                return Passages(train, test, key, listed, (start, end), kind)
    return None


def rows(path: Path) -> Iterator[Row]:
    """The objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def is_list_of_spans(value: object) -> bool:
    """Whether a value is a list of objects with at least two whole numbers."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and sum(type(part) is int for part in first.values()) >= 2


def answer_of(row: Row, kind: str, ends: Sequence[str]) -> tuple[int, int] | None:
    """First word and end of the answer whose key has the word `kind`, anywhere in the row; None if there is none."""
    for key, value in row.items():
        if kind in key and isinstance(value, dict) and all(end in value for end in ends):
            return value[ends[0]], value[ends[1]]
        for inner in value if isinstance(value, list) else [value]:
            found = answer_of(inner, kind, ends) if isinstance(inner, dict) else None
            if found is not None:
                return found
    return None


def run(task: Task) -> list[pd.DataFrame]:
    """Learn which candidate is the answer; leave rows empty where no candidate is likely enough."""
    found = find(task)
    assert found is not None
    train = first_rows(found, task.clock.part(0.3))
    cut = round((1 - HELD_OUT) * len(train))
    model = fit(train[:cut], found, task.seed)
    best = [likeliest(model, row, found) for row in train[cut:]]
    truth = [answer_of(row, found.kind, found.ends) for row in train[cut:]]

    def right(limit: float) -> float:
        return float(
            np.mean([(span if share >= limit else (-1, -1)) == t for (share, span), t in zip(best, truth, strict=True)])
        )

    limit = max((*np.arange(0.05, 1, 0.05), 2.0), key=right)
    print(f"  right on held-out rows: {right(limit):.3f}, of those left empty {right(2.0):.3f}", flush=True)
    model = fit(train, found, task.seed)
    answers = {}
    for row in rows(found.test):
        if task.clock.left() < 0:
            break
        share, span = likeliest(model, row, found)
        if share >= limit:
            answers[f"{row[found.key]}_{found.kind}"] = f"{span[0]}:{span[1]}"
    given = zip(task.sample[task.id], task.sample[task.targets[0]], strict=True)
    return [pd.DataFrame({task.targets[0]: [answers.get(name, cell) for name, cell in given]})]


def first_rows(found: Passages, clock: Clock) -> list[Row]:
    """The first training rows, no more than can be described in time."""
    chosen = []
    for row, _ in zip(rows(found.train), range(TRAIN_ROWS), strict=False):
        features(row, found)
        chosen.append(row)
        if clock.left() < 0:
            break
    return chosen


def fit(train: Sequence[Row], found: Passages, seed: int) -> Estimator:
    """A model of whether a candidate is the answer."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    matrix = np.vstack([features(row, found) for row in train])
    y = [span == answer_of(row, found.kind, found.ends) for row in train for span in spans_of(row, found)]
    with threads(0):
        return HistGradientBoostingClassifier(max_iter=120, min_samples_leaf=5, random_state=seed).fit(matrix, y)


def spans_of(row: Row, found: Passages) -> list[tuple[int, int]]:
    """First word and end of the candidates."""
    return [(one[found.ends[0]], one[found.ends[1]]) for one in row[found.listed][:MOST_CANDIDATES]]


def likeliest(model: Estimator, row: Row, found: Passages) -> tuple[float, tuple[int, int]]:
    """The best candidate and how likely it is."""
    spans = spans_of(row, found)
    if not spans:
        return 0.0, (-1, -1)
    shares = model.predict_proba(features(row, found))[:, 1]
    return float(shares.max()), spans[int(shares.argmax())]


def features(row: Row, found: Passages) -> np.ndarray:
    """For each candidate: what it shares with the question and no other candidate does, its place and its length."""
    texts = [value for value in row.values() if isinstance(value, str)]
    words = max(texts, key=len).split(" ")
    others = [text for key, text in row.items() if isinstance(text, str) and key != found.key and "://" not in text]
    question = set(min(others, key=len).lower().split())
    spans = spans_of(row, found)
    bags = [[word.lower() for word in words[start:end]] for start, end in spans]
    spread = {word: sum(word in set(bag) for bag in bags) for word in question}
    result = []
    for place, bag in enumerate(bags):
        weights = [1 / spread[word] for word in question & set(bag)]
        early = [1 / spread[word] for word in question & set(bag[:FIRST_WORDS])]
        found_all = [sum(weights), max(weights, default=0), sum(early), max(early, default=0)]
        result.append([*found_all, place, len(bags), len(bag), len(question), place / len(bags)])
    matrix = np.array(result, dtype=float).reshape(-1, 9)
    best = matrix[:, :4] - matrix[:, :4].max(axis=0, initial=0)
    return np.hstack([matrix, best, np.tile(matrix[:, :4].max(axis=0, initial=0), (len(matrix), 1))])
