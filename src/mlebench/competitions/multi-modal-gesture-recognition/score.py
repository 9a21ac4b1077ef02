"""Edits per true sign."""

from __future__ import annotations

import pandas as pd

from mlebench.cell_formats.whole_numbers import read_whole_numbers
from mlebench.cells import as_text
from mlebench.metrics.text import relative_sequence_distance


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Sum of the Levenshtein distances of all recordings, paired by `Id`, per sign of the true sequences."""
    predictions = submission.set_index("Id")["Sequence"].loc[answers["Id"]]
    return relative_sequence_distance(_sequences(answers["Sequence"]), _sequences(predictions))


def _sequences(cells: pd.Series) -> list[list[int]]:
    return [read_whole_numbers(text) or [] for text in as_text(cells)]
