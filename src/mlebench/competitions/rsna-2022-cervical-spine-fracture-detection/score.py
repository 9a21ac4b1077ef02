"""The eight labels of a study, weighted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.metrics.log_loss import weighted_multilabel_log_loss

LABELS = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
FRACTURED, SOUND = [14, *[2] * 7], [7, *[1] * 7]


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over the studies of the weighted mean over the labels of the log loss, rows paired by `row_id`."""
    ordered = answers.sort_values(["prediction_type", "StudyInstanceUID"], key=_order)
    predicted = submission.set_index("row_id")["fractured"].loc[ordered["row_id"]]
    return weighted_multilabel_log_loss(
        _one_row_a_study(ordered["fractured"]),
        _one_row_a_study(predicted),
        positive_weights=FRACTURED,
        negative_weights=SOUND,
    )


def _order(column: pd.Series) -> pd.Series:
    """The order of the labels, or that of the studies."""
    return column.map(LABELS.index) if column.name == "prediction_type" else column


def _one_row_a_study(values: pd.Series) -> np.ndarray:
    """Values that stand label after label, as an array (studies, labels)."""
    return values.to_numpy().reshape(len(LABELS), -1).T
