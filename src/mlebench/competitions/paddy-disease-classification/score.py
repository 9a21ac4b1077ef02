"""A warning of labels that are no class; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.class_names import warn_of_unknown
from mlebench.submission import Problem

CLASSES = [
    *("bacterial_leaf_blight", "bacterial_leaf_streak", "bacterial_panicle_blight", "blast", "brown_spot"),
    *("dead_heart", "downy_mildew", "hispa", "normal", "tungro"),
]


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:  # noqa: ARG001
    """Labels outside the ten classes, and empty ones, are warned of; they count as wrong."""
    yield from warn_of_unknown(table["label"], CLASSES, "the description")
