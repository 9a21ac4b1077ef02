"""The answers of a training table as a problem to learn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from . import metric
from .learn import Problem
from .task import ANSWER_WORDS, Labels, Task

FEW_VALUES = 30
MOST_LABELS = 150
FEWEST_OF_A_LABEL = 2


@dataclass(frozen=True)
class Target:
    """The answers as a problem to learn, and how to write predictions.

    `names`: the texts of the classes, or of the labels if they are written as lists with `separator`.
    `shares`: numbers are shares of a whole. `guesses`: how many classes are written in a row, the likeliest first.
    """

    problem: Problem
    rows: np.ndarray  # the training rows that have answers
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    shares: bool = False
    separator: str | None = None
    guesses: int = 1


def target_of(task: Task) -> Target | None:
    """The answers of the training table; None if they are neither classes nor labels nor numbers."""
    labels = task.labels
    assert labels is not None
    answers = task.train[list(labels.columns)]
    rows = np.flatnonzero(answers.notna().all(axis=1).to_numpy())
    answers = answers.iloc[rows]
    if not len(rows):
        return None
    if labels.form == "lists":
        return _labels(answers.iloc[:, 0], rows, task, ",", tuple(task.targets))
    if len(labels.columns) == 1:
        if (separator := separator_of(answers.iloc[:, 0])) is not None:
            return _labels(answers.iloc[:, 0], rows, task, separator, frequent(answers.iloc[:, 0], separator))
        if is_class(answers.iloc[:, 0], task, labels):
            return _classes(answers.iloc[:, 0], rows, task, labels)
    if not all(pd.api.types.is_numeric_dtype(answers[column]) for column in answers):
        return None
    return _numbers(answers.to_numpy(float), rows, task)


def _numbers(y: np.ndarray, rows: np.ndarray, task: Task) -> Target:
    """Columns of numbers: one-hot classes, labels, shares of a whole, or any."""
    if np.isin(y, (0, 1)).all() and task.metric not in ("rmse", "rmsle", "mae") and y.shape[1] > 1:
        if (y.sum(axis=1) == 1).all():
            loss = metric.loss_of_classes(task.metric)
            return Target(Problem("classes", y.argmax(axis=1), y.shape[1], loss, task.seed), rows, tuple(task.targets))
        return Target(Problem("labels", y.astype(int), y.shape[1], metric.loss_of_labels(task.metric)), rows)
    total = y.sum(axis=1, keepdims=True)
    if y.shape[1] > 2 and y.min() >= 0 and total.min() > 0 and are_shares(task.sample_numbers):
        return Target(Problem("numbers", y / total, y.shape[1], metric.loss_of_numbers("rmse")), rows, shares=True)
    logarithmic = task.metric == "rmsle" and y.min() > -1
    y = np.log1p(y) if logarithmic else y
    return Target(Problem("numbers", y, y.shape[1], metric.loss_of_numbers(task.metric)), rows, (), logarithmic)


def are_shares(numbers: np.ndarray) -> bool:
    """Whether the rows of the sample's predictions sum to 1."""
    return bool(np.isfinite(numbers).all() and np.allclose(numbers.sum(axis=1), 1, atol=1e-3))


def guesses(task: Task, values: pd.Series) -> int:
    """How many answers the sample gives in one cell, `values` being single answers."""
    cells = task.sample[task.targets[0]]
    counts = {len(cell.split()) for cell in cells}
    if len(counts) != 1 or cells.nunique() > max(1, len(cells) // 2) or cells.isin(set(values.astype("string"))).any():
        return 1
    return min(counts) if len(set(cells.iloc[0].split())) in counts else 1


def is_class(values: pd.Series, task: Task, labels: Labels) -> bool:
    """Whether a column of answers holds classes rather than numbers or free text."""
    if labels.form == "class" or guesses(task, values) > 1:
        return True
    distinct = values.nunique()
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return distinct <= max(FEW_VALUES, len(values) // 3)
    whole = bool((values == values.round()).all())
    if task.metric in metric.FOR_NUMBERS:
        return False
    named = labels.form == "renamed" and ANSWER_WORDS.search(labels.columns[0]) is not None
    many = task.metric in metric.FOR_CLASSES or named
    return whole and distinct <= (max(FEW_VALUES, len(values) // 3) if many else FEW_VALUES)


def _classes(values: pd.Series, rows: np.ndarray, task: Task, labels: Labels) -> Target:
    if labels.form == "class":
        names = pd.Index(task.targets)
        codes = names.get_indexer(pd.Index(values.astype("string").to_numpy(object)))
    else:
        codes, names = pd.factorize(values, sort=True)
    codes = np.asarray(codes)
    problem = Problem("classes", codes[codes >= 0], len(names), metric.loss_of_classes(task.metric), task.seed)
    count = guesses(task, values) if len(task.targets) == 1 else 1
    return Target(problem, rows[codes >= 0], tuple(str(name) for name in names), guesses=count)


# --- lists of labels


def separator_of(values: pd.Series) -> str | None:
    """What parts the labels in the cells of a column, if these are lists of labels that occur again and again."""
    if pd.api.types.is_numeric_dtype(values) or values.nunique() <= FEW_VALUES:
        return None
    cells = values.astype("string").head(5_000)
    for separator in (", ", ",", ";", "|", " "):
        lists = [cell.split(separator) for cell in cells]
        counts = Counter(token for tokens in lists for token in tokens)
        several = np.mean([len(tokens) > 1 for tokens in lists])
        unordered = np.mean([len(set(tokens)) == len(tokens) for tokens in lists])
        short = np.mean([len(tokens) for tokens in lists]) <= 12 and max(map(len, counts)) <= 60
        if several > 0.1 and unordered > 0.95 and short and len(counts) <= cells.nunique() * 0.8:
            return separator
    return None


def frequent(values: pd.Series, separator: str) -> tuple[str, ...]:
    """The most frequent labels."""
    counts = Counter(token for cell in values.astype("string") for token in cell.split(separator))
    common = [token for token, count in counts.most_common(MOST_LABELS) if count >= FEWEST_OF_A_LABEL and token]
    return tuple(sorted(common))


def _labels(values: pd.Series, rows: np.ndarray, task: Task, separator: str, names: tuple[str, ...]) -> Target:
    """Columns of 0 and 1 from lists of labels."""
    place = {name: column for column, name in enumerate(names)}
    y = np.zeros((len(values), len(names)), dtype=int)
    for row, cell in enumerate(values.astype("string")):
        for token in cell.split(separator):
            if token in place:
                y[row, place[token]] = 1
    problem = Problem("labels", y, len(names), metric.loss_of_labels("log loss"), task.seed)
    as_list = separator if len(task.targets) == 1 else None
    return Target(problem, rows, names, separator=as_list)
