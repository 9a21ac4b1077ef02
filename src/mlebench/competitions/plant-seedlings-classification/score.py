"""A warning of names that are no species of the twelve; the metric is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.class_names import warn_of_unknown
from mlebench.submission import Problem

SPECIES = [
    *("Black-grass", "Charlock", "Cleavers", "Common Chickweed", "Common wheat", "Fat Hen", "Loose Silky-bent"),
    *("Maize", "Scentless Mayweed", "Shepherds Purse", "Small-flowered Cranesbill", "Sugar beet"),
]


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:  # noqa: ARG001
    """Names outside the twelve species are warned of; they count as wrong."""
    yield from warn_of_unknown(table["species"], SPECIES, "the description")
