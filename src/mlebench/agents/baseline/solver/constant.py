"""One answer for all rows: the most frequent class, the classes' shares, or the middle of the numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .targets import target_of
from .task import Task
from .writing import examples, pulled, shares_of, wants_probability


def applies(task: Task) -> bool:
    """Whether there are training answers."""
    return task.labels is not None and target_of(task) is not None


def run(task: Task) -> list[pd.DataFrame]:
    """The best constant for the metric."""
    target = target_of(task)
    assert target is not None
    problem = target.problem
    if problem.kind == "classes":
        shares = np.bincount(problem.y, minlength=problem.width) / len(problem.y)
        if len(task.targets) > 1:
            return [shares_of(np.tile(shares, (len(task.sample), 1)), task.targets)]
        best = np.argsort(-shares, kind="stable")[: target.guesses]
        names = _repeat(task, [" ".join(target.names[place] for place in best)])
        return [_repeat(task, [shares[1]]), names] if problem.width == 2 and wants_probability(task) else [names]
    if target.separator is not None:
        return [_repeat(task, [target.names[int(problem.y.sum(axis=0).argmax())]])]
    if target.shares:
        mean = problem.y.mean(axis=0, keepdims=True).repeat(len(task.sample), axis=0)
        return [shares_of(pulled(mean, examples(problem), problem.width), task.targets)]
    middle = np.median(problem.y, axis=0) if task.metric == "mae" else problem.y.mean(axis=0)
    return [_repeat(task, np.expm1(middle) if target.logarithmic else middle)]


def _repeat(task: Task, values: np.ndarray | list) -> pd.DataFrame:
    return pd.DataFrame([list(values)] * len(task.sample), columns=task.targets)
