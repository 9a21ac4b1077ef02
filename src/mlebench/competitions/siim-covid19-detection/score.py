"""Mean over six classes of the average precision; studies and pictures are samples alike.

Edition v1 counts what was not detected as examples too, v2 as is usual only detections.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cell_formats.labelled_boxes import Groups, numbered, read_groups
from mlebench.cells import as_text
from mlebench.metrics.detection import FloatArray, mean_step_average_precision_score


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Classes that no answer has are ignored."""
    return mean_step_average_precision_score(*_boxes(submission, answers), images=len(answers))


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    return mean_step_average_precision_score(*_boxes(submission, answers))


def _boxes(submission: pd.DataFrame, answers: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """True boxes and detections with the number of their row in the answers and that of their class."""
    paired = submission.set_index("id")["PredictionString"].loc[answers["id"]]
    true, predicted = _groups(answers["PredictionString"]), _groups(paired)
    classes = pd.Index(sorted(set(true.words)), dtype=object)
    y_pred = numbered(predicted, classes)
    return np.delete(numbered(true, classes), 2, axis=1), y_pred[y_pred[:, 1] >= 0]


def _groups(texts: pd.Series) -> Groups:
    return read_groups(as_text(texts).to_list(), 6, 0, any_blanks=True)
