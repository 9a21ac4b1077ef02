"""Mean average precision of upright boxes over ten thresholds of 3D IoU."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cell_formats.labelled_boxes import Groups, read_groups
from mlebench.cells import as_text
from mlebench.metrics._checks import FloatArray
from mlebench.metrics.boxes_3d import mean_average_precision_3d_score


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Classes that a sample does not have are ignored in it."""
    paired = submission.set_index("Id")["PredictionString"].loc[answers["Id"]]
    true, predicted = (read_groups(as_text(texts).to_list(), 9, 8) for texts in (answers["PredictionString"], paired))
    classes = pd.Index(sorted(set(true.words)), dtype=object)
    y_true, y_pred = _numbered(true, classes), _numbered(predicted, classes)
    return mean_average_precision_3d_score(
        np.delete(y_true, 2, axis=1), y_pred[y_pred[:, 1] >= 0], samples=len(answers)
    )


def _numbered(groups: Groups, classes: pd.Index) -> FloatArray:
    """The number of the sample, that of the class (-1 if no sample has it), confidence and box."""
    labels = classes.get_indexer(pd.Index(groups.words, dtype=object))
    return np.column_stack([groups.texts.astype(float), labels.astype(float), groups.numbers])
