"""Rows of several kinds, told by the end of their ids; those of a kind that a table grades get all its classes.

A class without a place is written as a box: its name, how likely it is, and the numbers that the sample has there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import rows
from .task import Labels, Task

BOX = re.compile(r"^\S*[^\d\s.]\S*( -?\d+(\.\d+)?){5}$")


@dataclass(frozen=True)
class Grades:
    """The table whose ids end as some of the sample's do, its classes' columns, and how they are written."""

    path: Path
    end: str
    names: dict[str, str]


def applies(task: Task) -> bool:
    """Whether the sample's cells are boxes with names, and a table has classes for ids with the same end."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Grades | None:
    """The table of grades; None if there is none."""
    ids = task.sample[task.id]
    if not task.sample[task.targets[0]].str.fullmatch(BOX).all() or not ids.str.contains("_").all():
        return None
    ends = set(ids.str.rsplit("_", n=1).str[-1])
    for path, head in task.side_tables.items():
        if task.id not in head.columns:
            continue
        end = next((end for end in ends if head[task.id].str.endswith(f"_{end}").all()), None)
        classes = [str(column) for column in head.columns if set(head[column]) <= {"0", "1"}]
        names = {column: column.split()[0].lower() for column in classes}
        named = all(f"`{name}`" in task.description for name in names.values())
        if end and len(classes) > 1 and len(set(names.values())) == len(classes) and named:
            return Grades(path, end, names)
    return None


def run(task: Task) -> Iterator[list[pd.DataFrame]]:
    """Learn the classes of the graded rows; the others stay as they are in the sample."""
    found, target = find(task), task.targets[0]
    assert found is not None
    graded = np.flatnonzero(task.sample[task.id].str.endswith(f"_{found.end}"))
    sample = task.sample.iloc[graded][[task.id]].reset_index(drop=True).assign(**dict.fromkeys(found.names, "0.5"))
    inner = task.with_sample(sample, [task.id], Labels(found.path, task.id, tuple(found.names), "columns"))
    nowhere = " ".join(task.sample[target].iloc[graded[0]].split()[2:])
    for forms in rows.run(inner):
        answers = task.sample[target].to_numpy(dtype=object).copy()
        for place, row in enumerate(graded):
            shares = {name: forms[0][column].iloc[place] for column, name in found.names.items()}
            order = sorted(shares, key=shares.__getitem__, reverse=True)
            answers[row] = " ".join(f"{name} {max(shares[name], 1e-4):.4f} {nowhere}" for name in order)
        yield [pd.DataFrame({target: answers})]
