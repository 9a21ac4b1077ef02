"""A warning of classes other than 0 and 1; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.class_names import warn_of_unknown
from mlebench.submission import Problem


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:  # noqa: ARG001
    """Other classes than 0 and 1 are warned of; they count as classes of their own."""
    yield from warn_of_unknown(table["contact"], {0, 1}, "the description")
