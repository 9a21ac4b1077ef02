"""Mean columnwise error of three columns, on the rows that were measured.

Edition v1 finds them by their place in the submitted file, v2 by their id.
"""

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
    """Scored rows need finite numbers in the scored columns, and stand where the sample submission has them."""
    measured = _measured_ids(public)
    yield from _not_finite(table, measured.to_numpy())
    misplaced = table["id_seqpos"].to_numpy() != measured.index.to_numpy()
    if misplaced.any():
        yield row_problem(
            "row order",
            "id_seqpos stands in another place than in the sample submission: wrong rows will be scored",
            misplaced,
            table["id_seqpos"],
            only_warns=True,
        )


def check_submission_v2(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Scored rows need finite numbers in the scored columns."""
    yield from _not_finite(table, _measured_ids(public)[table["id_seqpos"]].to_numpy())


def _measured_ids(public: Path) -> pd.Series:
    """Whether a row is scored, by its id, in the order of the sample submission."""
    with (public / "test.json").open(encoding="utf-8") as file:
        molecules = pd.read_json(file, lines=True)
    return pd.Series(
        {
            f"{name}_{position}": position < count
            for name, length, count in zip(
                molecules["id"], molecules["seq_length"], molecules["seq_scored"], strict=True
            )
            for position in range(length)
        }
    )


def _not_finite(table: pd.DataFrame, scored: np.ndarray) -> Iterator[Problem]:
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


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over three columns of the root mean squared error of the measured rows, paired by id."""
    truth = answers[answers["keep"].to_numpy(bool)]
    predicted = submission.set_index("id_seqpos").loc[truth["id_seqpos"]]
    return mean_columnwise_rms_error(truth[SCORED], np.column_stack([as_numbers(predicted[name]) for name in SCORED]))


def _chosen(table: pd.DataFrame, measured: np.ndarray) -> np.ndarray:
    """The places in the file that are measured, in the order of the ids as texts."""
    places = np.argsort(table["id_seqpos"].to_numpy(dtype=object), kind="stable")
    return places[measured[places]]
