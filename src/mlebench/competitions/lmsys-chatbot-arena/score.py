"""Answers without the long texts that stand in their file; the metric is the library's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.tables import read_csv


def read_answers(path: Path) -> pd.DataFrame:
    return read_csv(path, usecols=["id", "winner_model_a", "winner_model_b", "winner_tie"])
