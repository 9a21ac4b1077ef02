"""A warning of categories that do not exist; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.submission import Problem, row_problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Categories that category_names.csv lacks are warned of; they count as wrong."""
    known = read_csv(public / "category_names.csv")["category_id"]
    unknown = ~table["category_id"].isin(known)
    if unknown.any():
        yield row_problem(
            "unknown category",
            "category_id is not in category_names.csv and counts as wrong",
            unknown,
            table["category_id"],
            only_warns=True,
        )
