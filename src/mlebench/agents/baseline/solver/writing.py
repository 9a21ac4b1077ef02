"""Predictions in the form that the sample submission has and the metric wants."""

from __future__ import annotations

import numpy as np
import pandas as pd

from . import metric
from .learn import Learned, Problem
from .targets import Target
from .task import Task

EVEN_EXAMPLES = 12


def write(task: Task, target: Target, problem: Problem, learned: Learned) -> list[pd.DataFrame]:
    """The predictions as tables with the sample's columns, the preferred form first."""
    if problem.kind == "classes":
        return _write_classes(task, target, problem, learned)
    values = np.expm1(learned.test) if target.logarithmic else learned.test
    if problem.kind == "labels":
        if target.separator is not None:
            return [_write_lists(task, target, problem, learned)]
        values = pulled(np.clip(values, 0, 1), examples(problem), 2) if task.metric == "log loss" else values
        return [pd.DataFrame(np.clip(values, 0, 1), columns=task.targets)]
    if target.shares:
        return [shares_of(pulled(values, examples(problem), values.shape[1]), task.targets)]
    seen = np.expm1(problem.y) if target.logarithmic else problem.y
    values = pd.DataFrame(np.clip(values, seen.min(axis=0), seen.max(axis=0)), columns=task.targets)
    return [values, values.round().astype("int64")]


def pulled(shares: np.ndarray, count: int, classes: int) -> np.ndarray:
    """Shares pulled towards even ones the more, the fewer examples they were learned from.

    As if a few more examples had been seen, in which all classes were alike; many examples outweigh them.
    """
    return (shares * count + EVEN_EXAMPLES / classes) / (count + EVEN_EXAMPLES)


def examples(problem: Problem) -> int:
    """How many examples tell something of their own: those of a group count as one."""
    return len(problem.y) if problem.groups is None else len(np.unique(problem.groups))


def shares_of(values: np.ndarray, columns: list[str]) -> pd.DataFrame:
    """Rows of numbers as shares that sum to 1."""
    values = np.clip(values, 1e-7, None)
    return pd.DataFrame((values / values.sum(axis=1, keepdims=True)).round(12), columns=columns)


def _write_lists(task: Task, target: Target, problem: Problem, learned: Learned) -> pd.DataFrame:
    """The labels above the threshold that has the best F1 out of fold, at least the likeliest."""
    known = ~np.isnan(learned.out_of_fold).any(axis=1)
    y, shares = problem.y[known] == 1, learned.out_of_fold[known]

    def f1(threshold: float) -> float:
        chosen = (shares >= threshold) | (shares >= shares.max(axis=1, keepdims=True))
        return 2 * (chosen & y).sum() / max(1, chosen.sum() + y.sum())

    threshold = max(np.arange(0.02, 0.7, 0.02), key=f1)
    names, lists = np.asarray(target.names, dtype=object), []
    for row in learned.test:
        order = np.argsort(-row, kind="stable")
        lists.append((target.separator or " ").join(names[order[: max(1, int((row >= threshold).sum()))]]))
    return pd.DataFrame({task.targets[0]: lists})


def _write_classes(task: Task, target: Target, problem: Problem, learned: Learned) -> list[pd.DataFrame]:
    if len(task.targets) > 1:
        whole = pd.DataFrame(np.eye(problem.width, dtype=int)[learned.test.argmax(axis=1)], columns=task.targets)
        return [shares_of(learned.test, task.targets), whole]
    if target.guesses > 1:
        order = np.argsort(-learned.test, axis=1, kind="stable")[:, : target.guesses]
        texts = np.asarray(target.names, dtype=object)[order]
        return [pd.DataFrame({task.targets[0]: [" ".join(row) for row in texts]})]
    chosen = learned.test.argmax(axis=1)
    if task.metric == "kappa":
        chosen = ordinal(problem.y, learned)
    elif problem.width == 2 and task.metric in metric.NEEDS_THRESHOLD:
        chosen = (learned.test[:, 1] >= best_threshold(problem.y, learned)).astype(int)
    names = pd.DataFrame({task.targets[0]: np.asarray(target.names, dtype=object)[chosen]})
    if problem.width == 2 and wants_probability(task):
        return [pd.DataFrame({task.targets[0]: learned.test[:, 1]}), names]
    return [names]


def wants_probability(task: Task) -> bool:
    """Whether the single column of two classes takes a probability: by the metric, else by the sample's cells."""
    if task.metric in metric.WANTS_PROBABILITIES:
        return True
    numbers = task.sample_numbers
    return bool(np.isfinite(numbers).all() and (numbers % 1 != 0).any())


def best_threshold(y: np.ndarray, learned: Learned) -> float:
    """The threshold on the probability of the second class with the best correlation out of fold."""
    known = ~np.isnan(learned.out_of_fold).any(axis=1)
    y, shares = y[known], learned.out_of_fold[known, 1]

    def correlation(threshold: float) -> float:
        chosen = shares >= threshold
        return float(np.corrcoef(chosen, y)[0, 1]) if 0 < chosen.mean() < 1 else -1.0

    return max(np.quantile(shares, np.linspace(0.02, 0.999, 80)), key=correlation)


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
