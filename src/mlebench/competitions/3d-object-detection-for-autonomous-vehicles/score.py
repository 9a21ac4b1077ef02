"""Mean average precision of upright boxes over ten thresholds of 3D IoU."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cell_formats.labelled_boxes import numbered, read_groups
from mlebench.cells import as_text
from mlebench.metrics.boxes_3d import mean_average_precision_3d_score


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Classes that a sample does not have are ignored in it."""
    paired = submission.set_index("Id")["PredictionString"].loc[answers["Id"]]
    true, predicted = (read_groups(as_text(texts).to_list(), 9, 8) for texts in (answers["PredictionString"], paired))
    classes = pd.Index(sorted(set(true.words)), dtype=object)
    y_true, y_pred = numbered(true, classes), numbered(predicted, classes)
    return mean_average_precision_3d_score(
        np.delete(y_true, 2, axis=1), y_pred[y_pred[:, 1] >= 0], samples=len(answers)
    )
