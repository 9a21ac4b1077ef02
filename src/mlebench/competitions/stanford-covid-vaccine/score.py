"""Mean columnwise error of three columns, on rows chosen by their place in the submitted file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cells import as_numbers
from mlebench.metrics.regression import mean_columnwise_rms_error
from mlebench.submission import Problem, row_problem

SCORED = ["reactivity", "deg_Mg_pH10", "deg_Mg_50C"]


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """The three scored columns need finite numbers wherever a row is scored; all else may hold anything."""
    with (public / "test.json").open(encoding="utf-8") as file:
        molecules = pd.read_json(file, lines=True)
    scored = np.concatenate(
        [
            np.arange(length) < count
            for length, count in zip(molecules["seq_length"], molecules["seq_scored"], strict=True)
        ]
    )
    for name in SCORED:
        wrong = scored & ~np.isfinite(as_numbers(table[name]))
        if wrong.any():
            yield row_problem(
                "not a finite number",
                f"{name} is no finite number in a scored row",
                wrong,
                table[name],
                "a finite number",
            )


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over three columns of the root mean squared error.

    Submission and answers are sorted by id; then v1 keeps of the answers the measured rows, of the submission
    those whose place in the file is that of a measured row in the answers' file. Both are the same rows only
    if the two files are in the same order.
    """
    measured = answers["keep"].to_numpy(bool)
    truth = answers.iloc[_chosen(answers, measured)][SCORED]
    predicted = submission.iloc[_chosen(submission, measured)]
    return mean_columnwise_rms_error(truth, np.column_stack([as_numbers(predicted[name]) for name in SCORED]))


def _chosen(table: pd.DataFrame, measured: np.ndarray) -> np.ndarray:
    """The places in the file that are measured, in the order of the ids as texts."""
    places = np.argsort(table["id_seqpos"].to_numpy(dtype=object), kind="stable")
    return places[measured[places]]
