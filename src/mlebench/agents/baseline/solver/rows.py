"""A prediction for each row from its table columns, texts, pictures, sounds and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from . import media, metric, tables, text
from .learn import Block, Learned, Problem, stages
from .models import portfolio
from .task import Labels, Task

FEW_VALUES = 30
TEXT_COMPONENTS = 40


@dataclass(frozen=True)
class Target:
    """The answers as a problem to learn, and how to write predictions: `names` are the texts of the classes."""

    problem: Problem
    rows: np.ndarray  # the training rows that have answers
    names: tuple[str, ...] = ()
    logarithmic: bool = False


def applies(task: Task) -> bool:
    """Whether there is a training table, and a table or files with something to learn from."""
    return task.labels is not None and target_of(task) is not None


def run(task: Task) -> Iterator[list[pd.DataFrame]]:
    """Predictions of the first model, then of all; each in several forms, since the first may be refused."""
    target = target_of(task)
    assert target is not None
    blocks, rows = feature_blocks(task, target)
    problem = target.problem
    part = Problem(problem.kind, problem.y[rows], problem.width, problem.loss, task.seed)
    print(f"  {part.kind}, width {part.width}, {len(rows)} rows, {describe(blocks)}, metric {task.metric}", flush=True)
    clock = task.clock.part(min(0.9, seconds_worth(len(rows)) / max(1.0, task.clock.left())))
    for learned in stages(part, portfolio(part, blocks), clock):
        print(f"  {learned.name}: loss {learned.loss:.5f} {learned.parts or ''}", flush=True)
        yield write(task, target, replace(part, y=part.y[learned.rows]), learned)


def seconds_worth(rows: int) -> float:
    """How long it pays to train on so many rows: more models on few rows only fit their noise."""
    return 6 + 0.04 * rows


def describe(blocks: list[Block]) -> str:
    """Names and numbers of columns of the blocks."""
    keys = [0 if block.train_keys is None else block.train_keys.shape[1] for block in blocks]
    return ", ".join(f"{b.name} {b.train.shape[1]} + {k} keys" for b, k in zip(blocks, keys, strict=True))


# --- what is to be learned


def target_of(task: Task) -> Target | None:
    """The answers of the training table; None if they are neither classes nor numbers."""
    labels = task.labels
    assert labels is not None
    answers = task.train[list(labels.columns)]
    rows = np.flatnonzero(answers.notna().all(axis=1).to_numpy())
    answers = answers.iloc[rows]
    if not len(rows):
        return None
    if len(labels.columns) == 1 and is_class(answers.iloc[:, 0], task, labels):
        return _classes(answers.iloc[:, 0], rows, task, labels)
    if not all(pd.api.types.is_numeric_dtype(answers[column]) for column in answers):
        return None
    y = answers.to_numpy(float)
    if np.isin(y, (0, 1)).all() and task.metric not in ("rmse", "rmsle", "mae") and y.shape[1] > 1:
        if (y.sum(axis=1) == 1).all():
            loss = metric.loss_of_classes(task.metric)
            return Target(Problem("classes", y.argmax(axis=1), y.shape[1], loss, task.seed), rows, tuple(task.targets))
        return Target(Problem("labels", y.astype(int), y.shape[1], metric.loss_of_labels(task.metric)), rows)
    logarithmic = task.metric == "rmsle" and y.min() > -1
    y = np.log1p(y) if logarithmic else y
    return Target(Problem("numbers", y, y.shape[1], metric.loss_of_numbers(task.metric)), rows, (), logarithmic)


def is_class(values: pd.Series, task: Task, labels: Labels) -> bool:
    """Whether a column of answers holds classes rather than numbers or free text."""
    if labels.form == "class":
        return True
    distinct = values.nunique()
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return distinct <= max(FEW_VALUES, len(values) // 3)
    whole = bool((values == values.round()).all())
    if task.metric in metric.FOR_NUMBERS:
        return False
    return whole and distinct <= (
        max(FEW_VALUES, len(values) // 5) if task.metric in metric.FOR_CLASSES else FEW_VALUES
    )


def _classes(values: pd.Series, rows: np.ndarray, task: Task, labels: Labels) -> Target:
    if labels.form == "class":
        names = pd.Index(task.targets)
        codes = names.get_indexer(pd.Index(values.astype("string").to_numpy(object)))
    else:
        codes, names = pd.factorize(values, sort=True)
    codes = np.asarray(codes)
    problem = Problem("classes", codes[codes >= 0], len(names), metric.loss_of_classes(task.metric), task.seed)
    return Target(problem, rows[codes >= 0], tuple(str(name) for name in names))


# --- what it is learned from


def feature_blocks(task: Task, target: Target) -> tuple[list[Block], np.ndarray]:
    """The features, and which rows of the target they are of (files may be too many to read in time)."""
    labels = task.labels
    assert labels is not None
    train = task.train.iloc[target.rows].reset_index(drop=True)
    common = [c for c in task.test.columns if c in train.columns and c not in labels.columns]
    built = tables.build(train, task.test[common], task.id)
    dense, found = tables.blocks(built, len(train)), []
    if built.texts:
        found = [text.block(built.texts, len(train))]
        slim = text.components(found[0], TEXT_COMPONENTS, task.seed)
        if slim is not None:
            dense = [_beside(block, slim) for block in dense] or [slim]
    found += dense
    rows = np.arange(len(train))
    if labels.id is not None:
        names = train[labels.id].astype("string").tolist(), task.test[task.id].astype("string").tolist()
        files = media.find_block(task.files, *names, task.clock.part(0.5), task.seed)
        if files is not None:
            seen, rows = files
            found = [block.rows(rows) for block in found]
            found.append(_beside(found[-1], seen) if dense else seen)
    if not found:
        raise LookupError("there is nothing to learn from")
    return found, rows


def _beside(first: Block, second: Block) -> Block:
    """Dense blocks side by side as one; the categories and keys are those of the first."""
    train, test = np.hstack([first.train, second.train]), np.hstack([first.test, second.test])
    name = f"{first.name} and {second.name}"
    return Block(name, train, test, first.categories, first.train_keys, first.test_keys)


# --- how it is written


def write(task: Task, target: Target, problem: Problem, learned: Learned) -> list[pd.DataFrame]:
    """The predictions as tables with the sample's columns, the preferred form first."""
    if problem.kind == "classes":
        return _write_classes(task, target, problem, learned)
    values = np.expm1(learned.test) if target.logarithmic else learned.test
    if problem.kind == "labels":
        return [pd.DataFrame(np.clip(values, 0, 1), columns=task.targets)]
    seen = np.expm1(problem.y) if target.logarithmic else problem.y
    values = pd.DataFrame(np.clip(values, seen.min(axis=0), seen.max(axis=0)), columns=task.targets)
    return [values, values.round().astype("int64")]


def _write_classes(task: Task, target: Target, problem: Problem, learned: Learned) -> list[pd.DataFrame]:
    if len(task.targets) > 1:
        shares = np.clip(learned.test, 1e-7, 1)
        shares = (shares / shares.sum(axis=1, keepdims=True)).round(12)
        whole = pd.DataFrame(np.eye(problem.width, dtype=int)[learned.test.argmax(axis=1)], columns=task.targets)
        return [pd.DataFrame(shares, columns=task.targets), whole]
    chosen = learned.test.argmax(axis=1)
    if task.metric == "kappa":
        chosen = ordinal(problem.y, learned)
    names = pd.DataFrame({task.targets[0]: np.asarray(target.names, dtype=object)[chosen]})
    if problem.width == 2 and wants_probability(task):
        return [pd.DataFrame({task.targets[0]: learned.test[:, 1]}), names]
    return [names]


def wants_probability(task: Task) -> bool:
    """Whether the single column of two classes takes a probability: by the metric, else by the sample's cells."""
    if task.metric in metric.WANTS_PROBABILITIES:
        return True
    numbers = task.sample_numbers
    return task.metric is None and bool(np.isfinite(numbers).all() and (numbers % 1 != 0).any())


def ordinal(y: np.ndarray, learned: Learned) -> np.ndarray:
    """Classes by thresholds on the expected class, if that has the better weighted kappa out of fold."""
    from sklearn.metrics import cohen_kappa_score

    known = ~np.isnan(learned.out_of_fold).any(axis=1)
    y, shares = y[known], learned.out_of_fold[known]
    classes = np.arange(shares.shape[1])
    expected = shares @ classes

    def kappa(cuts: np.ndarray) -> float:
        return float(cohen_kappa_score(y, np.searchsorted(cuts, expected), weights="quadratic", labels=classes))

    cuts = classes[:-1] + 0.5
    for _ in range(2):
        for place in range(len(cuts)):
            options = [np.r_[cuts[:place], cut, cuts[place + 1 :]] for cut in cuts[place] + np.linspace(-0.4, 0.4, 17)]
            cuts = max((option for option in options if (np.diff(option) > 0).all()), key=kappa, default=cuts)
    if kappa(cuts) <= cohen_kappa_score(y, shares.argmax(axis=1), weights="quadratic", labels=classes):
        return learned.test.argmax(axis=1)
    return np.searchsorted(cuts, learned.test @ classes)
