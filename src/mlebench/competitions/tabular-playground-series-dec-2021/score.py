"""A warning of classes that do not exist; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.class_names import warn_of_unknown
from mlebench.submission import Problem


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:  # noqa: ARG001
    """Classes outside 1 to 7 are warned of; they count as wrong."""
    yield from warn_of_unknown(table["Cover_Type"], range(1, 8), "the description")
