"""The overall area under the ROC curve, and power means of areas that show a bias against nine groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import InvalidSubmission
from mlebench.metrics.roc import bias_roc_auc_score, bias_roc_aucs
from mlebench.submission import Problem
from mlebench.tables import read_csv

GROUPS = [
    "male",
    "female",
    "homosexual_gay_or_lesbian",
    "christian",
    "jewish",
    "muslim",
    "black",
    "white",
    "psychiatric_or_mental_illness",
]
THRESHOLD = 0.5  # from which share of raters a comment counts as toxic, or as mentioning a group


def read_answers(path: Path) -> pd.DataFrame:
    """Without the comments and facts that stand in the same file."""
    return read_csv(path, usecols=["id", "toxicity", *GROUPS])


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The score of predictions cut to 0 and 1, as v1 does; a missing one is below any threshold.

    Raises InvalidSubmission where an area of 0 would be raised to a negative power.
    """
    truth, predicted, groups = _paired(submission, answers)
    predicted = predicted >= THRESHOLD
    if (bias_roc_aucs(truth, predicted, groups) == 0).any():
        message = "the predictions are exactly wrong for a group: an area is 0, and its power mean undefined"
        raise InvalidSubmission([Problem("undefined score", message)])
    return bias_roc_auc_score(truth, predicted, groups=groups)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The score of the predictions as they are."""
    truth, predicted, groups = _paired(submission, answers)
    return bias_roc_auc_score(truth, predicted, groups=groups)


def _paired(submission: pd.DataFrame, answers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether a comment is toxic, what is predicted, and which groups it mentions, shape (rows, groups)."""
    predicted = submission.set_index("id")["prediction"].loc[answers["id"]].to_numpy(dtype=float)
    return (answers["toxicity"] >= THRESHOLD).to_numpy(), predicted, (answers[GROUPS] >= THRESHOLD).to_numpy()
