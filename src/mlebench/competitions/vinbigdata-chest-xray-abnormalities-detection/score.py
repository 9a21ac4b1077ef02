"""Mean average precision at an IoU of 0.4.

Edition v1 hands boxes and numbers to COCOeval as the published benchmark does, v2 as COCOeval wants them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cell_formats.boxes import read_numbers
from mlebench.metrics.detection import FloatArray, mean_average_precision_score
from mlebench.submission import Problem, row_problem

CLASSES = 15


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Rows of one image are joined in file order; classes are truncated, unknown ones ignored.

    The corner x_max, y_max is taken as width and height; only the area that decides whether an unmatched
    detection counts is the true one.
    """
    true, predicted = _boxes(submission, answers)
    predicted[:, 1] = np.trunc(predicted[:, 1])
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coordinates are no fault
        sizes = (predicted[:, 5] - predicted[:, 3]) * (predicted[:, 6] - predicted[:, 4])
    return mean_average_precision_score(true, predicted, iou_threshold=0.4, sizes=sizes, numbered_from_zero=True)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    true, predicted = _boxes(submission, answers)
    for boxes in (true, predicted):
        boxes[:, -2:] -= boxes[:, -4:-2]  # corners become width and height
    return mean_average_precision_score(true, predicted, iou_threshold=0.4, size_range=(0.0, np.inf))


def check_submission_v2(table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """Classes are whole numbers from 0 to 14, and the second corner does not lie before the first."""
    numbers, counts = read_numbers(table["PredictionString"].to_list())
    boxes, rows = numbers.reshape(-1, 6), np.repeat(np.arange(len(table)), counts // 6)
    with np.errstate(over="ignore"):
        sides = boxes[:, 4:] - boxes[:, 2:4]
    faults = {
        "unknown class": ("names an unknown class", ~np.isin(boxes[:, 0], np.arange(CLASSES)), "classes 0 to 14"),
        "swapped corners": (
            "has a box whose second corner lies before the first",
            (sides < 0).any(axis=1),
            "x_min <= x_max and y_min <= y_max",
        ),
        "not finite": ("has a box of infinite size", np.isposinf(sides).any(axis=1), "a finite width and height"),
    }
    for kind, (message, wrong, expected) in faults.items():
        if wrong.any():
            of_rows = np.bincount(rows[wrong], minlength=len(table)) > 0
            yield row_problem(kind, f"PredictionString {message}", of_rows, table["PredictionString"], expected)


def _boxes(submission: pd.DataFrame, answers: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """True boxes and detections: number of the image, class, confidence (of detections only), corners."""
    images = pd.Index(answers["image_id"].unique())
    truth = answers[["class_id", "x_min", "y_min", "x_max", "y_max"]].to_numpy(float)
    numbers, counts = read_numbers(submission["PredictionString"].to_list())
    of_boxes = np.repeat(submission["image_id"].to_numpy(), counts // 6)
    return (
        _with_image(images, answers["image_id"].to_numpy(), truth),
        _with_image(images, of_boxes, numbers.reshape(-1, 6)),
    )


def _with_image(images: pd.Index, ids: np.ndarray, values: FloatArray) -> FloatArray:
    """`values` with the number of the image as the first column."""
    return np.insert(values, 0, images.get_indexer(pd.Index(ids)), axis=1)
