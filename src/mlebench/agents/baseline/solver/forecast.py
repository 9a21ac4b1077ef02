"""Later measurements of things whose first measurement is known: what the first says, and how long ago it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import metric, tables
from .files import read_table
from .learn import Problem, learn
from .models import portfolio
from .task import Task

UNSURE = re.compile(r"confiden|sigma|std|deviation|uncertain|error", re.IGNORECASE)
LATER_RATIO = 1.1  # of a deviation to that out of fold


@dataclass(frozen=True)
class Course:
    """Tables of measurements of the same columns; which column names the thing, which the time."""

    train: Path
    test: Path
    thing: str
    time: str
    known: list[str]  # targets that are measured


def applies(task: Task) -> bool:
    """Whether ids are `<thing>_<time>`, and a test table has a first measurement of each thing."""
    return find(task) is not None


def find(task: Task) -> Course | None:
    """The two tables; None if there are none."""
    if task.test_table is not None or not task.sample[task.id].str.fullmatch(r".+_-?\d+").all():
        return None
    parts = task.sample[task.id].str.rsplit("_", n=1, expand=True)
    things, times = set(parts[0]), set(parts[1])
    for test, head in task.tables.items():
        known = [target for target in task.targets if target in head.columns]
        name = next((str(c) for c in head.columns if things <= set(head[c])), None)
        if not known or name is None or name in known:
            continue
        for train, other in task.tables.items():
            if train != test and set(head.columns) <= set(other.columns) and len(other) > len(head):
                time = next((str(c) for c in head.columns if c not in (name, *known) and set(head[c]) & times), None)
                if time is not None:
                    return Course(train, test, name, time, known)
    return None


def run(task: Task) -> list[pd.DataFrame]:
    """Learn how measurements depart from a first one; columns that nobody measured are the error's size."""
    found = find(task)
    assert found is not None
    parts = task.sample[task.id].str.rsplit("_", n=1, expand=True)
    train, firsts = read_table(found.train, [found.thing]), read_table(found.test, [found.thing])
    test = pd.DataFrame({found.thing: parts[0], found.time: parts[1].astype(float)})
    test = features(test, firsts.drop_duplicates(found.thing), found)
    first = train.sort_values(found.time, kind="stable").drop_duplicates(found.thing)
    inputs = features(train, first, found)
    start = [f"first {name}" for name in found.known]
    change = train[found.known].to_numpy(float) - inputs[start].to_numpy(float)
    block = tables.blocks(tables.build(inputs, test, None), len(inputs))
    loss = metric.loss_of_numbers("mae")
    problem = Problem("numbers", change, len(found.known), loss, task.seed, pd.factorize(train[found.thing])[0])
    learned = learn(problem, portfolio(problem, block), task.clock.part(min(0.9, 40 / max(1.0, task.clock.left()))))
    print(f"  blend: loss {learned.loss:.3f} {learned.parts}", flush=True)
    values = pd.DataFrame(learned.test + test[start].to_numpy(float), columns=found.known)
    error = np.nanstd(learned.out_of_fold - change[learned.rows])
    for target in task.targets:
        if target not in found.known:
            values[target] = LATER_RATIO * error if UNSURE.search(target) else 0.0
    return [values]


def features(table: pd.DataFrame, first: pd.DataFrame, found: Course) -> pd.DataFrame:
    """For each row what is known of its thing's first measurement, and the time since then."""
    known = first.add_prefix("first ").rename(columns={f"first {found.thing}": found.thing})
    rows = table[[found.thing, found.time]].merge(known, on=found.thing, how="left").drop(columns=found.thing)
    rows["since"] = rows[found.time] - rows[f"first {found.time}"]
    return rows
