"""Mean average precision at an IoU of 0.4, boxes and numbers as the published benchmark hands them to COCOeval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cell_formats.boxes import read_numbers
from mlebench.metrics.detection import FloatArray, mean_average_precision_score


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Rows of one image are joined in file order; classes are truncated, unknown ones ignored.

    The corner x_max, y_max is taken as width and height; only the area that decides whether an unmatched
    detection counts is the true one.
    """
    images = pd.Index(answers["image_id"].unique())
    truth = answers[["class_id", "x_min", "y_min", "x_max", "y_max"]].to_numpy(float)
    numbers, counts = read_numbers(submission["PredictionString"].to_list())
    boxes = numbers.reshape(-1, 6)
    boxes[:, 0] = np.trunc(boxes[:, 0])
    of_boxes = np.repeat(submission["image_id"].to_numpy(), counts // 6)
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coordinates are no fault
        sizes = (boxes[:, 4] - boxes[:, 2]) * (boxes[:, 5] - boxes[:, 3])
    return mean_average_precision_score(
        _with_image(images, answers["image_id"].to_numpy(), truth),
        _with_image(images, of_boxes, boxes),
        iou_threshold=0.4,
        sizes=sizes,
        numbered_from_zero=True,
    )


def _with_image(images: pd.Index, ids: np.ndarray, values: FloatArray) -> FloatArray:
    """`values` with the number of the image as the first column."""
    return np.insert(values, 0, images.get_indexer(pd.Index(ids)), axis=1)
