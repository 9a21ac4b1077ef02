"""Refuses what has no logarithm; the metric itself is the library's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.submission import Problem, row_problem


def check_submission(table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """The metric takes ln(1 + value), so that every prediction has to be above -1."""
    for name in ("formation_energy_ev_natom", "bandgap_energy_ev"):
        wrong = table[name].to_numpy(dtype=float) <= -1
        if wrong.any():
            yield row_problem("out of range", f"{name} is out of range", wrong, table[name], "a number above -1")
