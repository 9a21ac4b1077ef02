"""Several answers for each thing, a row of the sample for each: the training table has them side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from . import rows
from .task import Labels, Task


@dataclass(frozen=True)
class Wide:
    """The training table, the column that names a thing, and the test table's column that names an answer."""

    path: Path
    thing: str
    kind: str


def applies(task: Task) -> bool:
    """Whether the test table has a thing and the name of one of the training table's columns in each row."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Wide | None:
    """The training table whose columns the cells of a test column name."""
    if task.test_table is None:
        return None
    test = task.test_texts
    for kind in map(str, test.columns):
        names = set(test[kind].dropna())
        if not 2 <= len(names) <= 500:
            continue
        for path, head in task.tables.items():
            things = [c for c in map(str, test.columns) if c in head.columns and c != kind]
            if names <= set(head.columns) and things and path != task.test_path:
                return Wide(path, things[0], kind)
    return None


def run(task: Task) -> Iterator[list[pd.DataFrame]]:
    """Solve the task with one row for each thing, then pick each row's answer."""
    found = find(task)
    assert found is not None
    test = task.test_texts
    things, names = list(dict.fromkeys(test[found.thing])), list(dict.fromkeys(test[found.kind]))
    sample = pd.DataFrame({found.thing: things}).assign(**dict.fromkeys(names, "0.5"))
    labels = Labels(found.path, found.thing, tuple(names), "columns")
    inner = task.with_sample(sample, [found.thing], labels)
    places = {thing: row for row, thing in enumerate(things)}
    for forms in rows.run(inner):
        yield [
            pd.DataFrame(
                {
                    task.targets[0]: [
                        form[name].iloc[places[thing]]
                        for thing, name in zip(test[found.thing], test[found.kind], strict=True)
                    ]
                }
            )
            for form in forms
        ]
