"""A prediction for each row from its table columns, texts, pictures, sounds and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from . import composed_ids, lookups, media, tables, text
from .learn import Block, stages
from .models import portfolio
from .targets import Target, target_of
from .task import Task
from .writing import write

TEXT_COMPONENTS = 40
FEWEST_GROUPS = 5
SEEN = 0.5  # share of the test's names that training has, for them to tell something by themselves


def applies(task: Task) -> bool:
    """Whether there is a training table, and a table or files with something to learn from."""
    return task.labels is not None and target_of(task) is not None


def run(task: Task) -> Iterator[list[pd.DataFrame]]:
    """Predictions of the first model, then of all; each in several forms, since the first may be refused."""
    target = target_of(task)
    assert target is not None
    blocks, rows = feature_blocks(task, target)
    problem = target.problem
    groups = groups_of(task, target)
    part = replace(problem, y=problem.y[rows], groups=None if groups is None else groups[rows])
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


# --- what it is learned from


def test_rows(task: Task) -> pd.DataFrame:
    """The rows of the test; where there is no test table, what their ids are composed of."""
    labels = task.labels
    if task.test_table is None and labels is not None and labels.id == task.id:
        found = composed_ids.columns_of(task.train, task.id)
        if found is not None:
            parts = composed_ids.taken_apart(task.sample[task.id], task.train, *found)
            if parts is not None:
                print(f"  ids are {found[0].join(found[1])}", flush=True)
                return pd.concat([task.test, parts], axis=1)
    return task.test


def groups_of(task: Task, target: Target) -> np.ndarray | None:
    """Codes of the training rows that belong together (those of a patient, say) if few test rows belong to one of them.

    Of several columns that name such groups, the one with the largest groups.
    """
    train = task.train.iloc[target.rows]
    names = [name for name in group_columns(task) if train[name].nunique() >= FEWEST_GROUPS]
    if not names:
        return None
    return pd.factorize(train[min(names, key=lambda name: train[name].nunique())])[0]


def group_columns(task: Task) -> list[str]:
    """The columns of names or numbers that repeat in training and of which few occur in the test."""
    found = []
    for name in map(str, task.test.columns):
        if name in task.train.columns and re.search(r"id$|name|patient|group|person", name, re.IGNORECASE):
            train, test = (table[name].dropna().astype("string") for table in (task.train, task.test))
            if train.nunique() < 0.8 * len(train) and test.isin(set(train)).mean() < SEEN:
                found.append(name)
    return found


def feature_blocks(task: Task, target: Target) -> tuple[list[Block], np.ndarray]:
    """The features, and which rows of the target they are of (files may be too many to read in time)."""
    labels = task.labels
    assert labels is not None
    train, test = task.train.iloc[target.rows].reset_index(drop=True), test_rows(task)
    others = {path: head for path, head in task.side_tables.items() if path != labels.path}
    train, test = lookups.enrich(train, test, others)
    known = {*labels.columns, *group_columns(task)}
    common = [c for c in test.columns if c in train.columns and c not in known]
    built = tables.build(train, test[common], task.id)
    dense, found = tables.blocks(built, len(train)), []
    if built.texts:
        found = [text.block(built.texts, len(train))]
        slim = text.components(found[0], TEXT_COMPONENTS, task.seed)
        if slim is not None:
            dense = [_beside(block, slim) for block in dense] or [slim]
    found += dense
    rows = np.arange(len(train))
    columns = task.file_column(train, "train"), task.file_column(task.test, "test")
    if columns[0] is not None and columns[1] is not None:
        names = train[columns[0]].astype("string").tolist(), task.test[columns[1]].astype("string").tolist()
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
