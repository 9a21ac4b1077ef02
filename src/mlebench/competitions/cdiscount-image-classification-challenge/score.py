"""A warning of categories that do not exist; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.class_names import warn_of_unknown
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Categories that category_names.csv lacks are warned of; they count as wrong."""
    categories = read_csv(public / "category_names.csv")["category_id"]
    yield from warn_of_unknown(table["category_id"], set(categories), "category_names.csv")
