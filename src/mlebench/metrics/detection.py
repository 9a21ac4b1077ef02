"""Metrics of detected boxes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

RECALL_LEVELS: FloatArray = np.linspace(0, 1, 101)


def mean_average_precision_score(
    y_true: FloatArray,
    y_pred: FloatArray,
    *,
    iou_threshold: float = 0.5,
    max_detections: int = 100,
    sizes: FloatArray | None = None,
    size_range: tuple[float, float] = (0.0, 1e10),
    numbered_from_zero: bool = False,
) -> float:
    """Mean over classes of the 101-point interpolated average precision of detected boxes; 1 is perfect.

    `y_true`: shape (boxes, 6), columns image, class, x, y, width, height. `y_pred`: shape (detections, 7),
    columns image, class, confidence, x, y, width, height. All finite. Classes that `y_true` lacks are ignored,
    a class without detections has average precision 0. Of each image and class the `max_detections` most
    confident detections count. One after the other, the most confident first, takes the free box that it
    overlaps most (of equal ones the later), if intersection over union is at least `iou_threshold`; boxes
    without width or height match nothing. Among equal confidences the lower image number comes first, then
    the earlier row.

    `sizes`, shape (detections,): the area of each detection, width times height by default. Unmatched
    detections whose area is outside `size_range` are left out instead of counting as false positives.
    `numbered_from_zero`: as in COCOeval when annotation ids start at 0, which it takes for "none". A detection
    that takes box 0 of `y_true` counts as unmatched, and detection 0 of `y_pred` leaves the box it takes free.

    Raises ValueError for other shapes, no true box, or values that are not finite.
    Source: pycocotools' COCOeval ("bbox", one IoU threshold, area range "all").

    >>> true = np.array([[0, 7, 10, 10, 20, 20], [1, 7, 0, 0, 5, 5]])
    >>> mean_average_precision_score(true, np.array([[0, 7, 0.9, 10, 10, 20, 20], [1, 7, 0.8, 0, 0, 5, 6]]))
    1.0
    >>> round(mean_average_precision_score(true, np.array([[0, 7, 0.9, 10, 10, 20, 20]])), 4)
    0.505
    """
    _require_boxes(y_true, y_pred)
    classes = np.unique(y_true[:, 1])
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coordinates are no fault
        areas = y_pred[:, 5] * y_pred[:, 6] if sizes is None else sizes
        rank = _ranks(y_pred, classes)
        candidates = np.flatnonzero((rank >= 0) & (rank < max_detections))
        detection, truth, iou = _overlapping(y_true, y_pred, candidates, iou_threshold)
    matched = _match(detection, truth, iou, rank[detection], len(y_pred), len(y_true), numbered_from_zero)
    out_of_range = (areas < size_range[0]) | (areas > size_range[1])
    counted = candidates[(matched | ~out_of_range)[candidates]]
    counted = counted[np.lexsort((y_pred[counted, 0], -y_pred[counted, 2]))]
    precisions = []
    for label in classes:
        hits = matched[counted[y_pred[counted, 1] == label]]
        precisions.append(_average_precision(hits, truths=int(np.sum(y_true[:, 1] == label))))
    return float(np.mean(precisions))


def _require_boxes(y_true: FloatArray, y_pred: FloatArray) -> None:
    if y_true.ndim != 2 or y_true.shape[1] != 6 or len(y_true) == 0:
        raise ValueError(f"y_true has shape {y_true.shape}, not (boxes, 6) with at least one box")
    if y_pred.ndim != 2 or y_pred.shape[1] != 7:
        raise ValueError(f"y_pred has shape {y_pred.shape}, not (detections, 7)")
    require_finite(y_true=y_true, y_pred=y_pred)


def _ranks(y_pred: FloatArray, classes: FloatArray) -> IntArray:
    """The place of each detection among those of its image and class by falling confidence; -1: not of `classes`."""
    ranks = np.full(len(y_pred), -1, dtype=np.int64)
    known = np.flatnonzero(np.isin(y_pred[:, 1], classes))
    order = known[np.lexsort((-y_pred[known, 2], y_pred[known, 1], y_pred[known, 0]))]
    groups = y_pred[order, :2]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (groups[1:] != groups[:-1]).any(axis=1)
    place = np.arange(len(order))
    ranks[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return ranks


def _overlapping(
    y_true: FloatArray, y_pred: FloatArray, candidates: IntArray, iou_threshold: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs of one of the `candidates` and a true box of its image and class that overlap enough.

    Returns detections, true boxes and intersections over union, all of shape (pairs,).
    """
    _, image = np.unique(np.concatenate([y_true[:, 0], y_pred[candidates, 0]]), return_inverse=True)
    classes, label = np.unique(np.concatenate([y_true[:, 1], y_pred[candidates, 1]]), return_inverse=True)
    group = image * len(classes) + label
    true_group, group = group[: len(y_true)], group[len(y_true) :]
    by_group = np.argsort(true_group, kind="stable")
    first = np.searchsorted(true_group[by_group], group, side="left")
    count = np.searchsorted(true_group[by_group], group, side="right") - first
    detection = np.repeat(candidates, count)
    truth = by_group[np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())]
    iou = _iou(y_pred[detection, 3:], y_true[truth, 2:])
    enough = iou >= min(iou_threshold, 1 - 1e-10)
    return detection[enough], truth[enough], iou[enough]


def _iou(first: FloatArray, second: FloatArray) -> FloatArray:
    """Intersection over union of boxes x, y, width, height, row by row; 0 without an overlap."""
    ends = np.minimum(first[:, :2] + first[:, 2:], second[:, :2] + second[:, 2:])
    overlap = ends - np.maximum(first[:, :2], second[:, :2])
    overlaps = (overlap > 0).all(axis=1)
    both = np.where(overlaps, overlap[:, 0] * overlap[:, 1], 0)
    union = first[:, 2] * first[:, 3] + second[:, 2] * second[:, 3] - both
    return np.divide(both, union, out=np.zeros(len(both)), where=overlaps & (union != 0))


def _match(
    detection: IntArray,
    truth: IntArray,
    iou: FloatArray,
    rank: IntArray,
    detections: int,
    truths: int,
    numbered_from_zero: bool,
) -> BoolArray:
    """Which detections take a true box, shape (detections,); all images and classes at once, rank by rank."""
    matched, taken = np.zeros(detections, dtype=bool), np.zeros(truths, dtype=bool)
    order = np.lexsort((truth, iou, detection, rank))  # the pair to prefer last
    detection, truth = detection[order], truth[order]
    for begin, end in _blocks(rank[order]):
        free = ~taken[truth[begin:end]]
        found, box = detection[begin:end][free], truth[begin:end][free]
        best = np.ones(len(found), dtype=bool)
        best[:-1] = found[1:] != found[:-1]
        found, box = found[best], box[best]
        matched[found] = ~((box == 0) & numbered_from_zero)
        taken[box[~((found == 0) & numbered_from_zero)]] = True
    return matched


def _blocks(values: IntArray) -> list[tuple[int, int]]:
    """Begin and end of each stretch of equal values."""
    borders = np.flatnonzero(np.diff(values)) + 1
    edges = [0, *borders.tolist(), len(values)]
    return list(pairwise(edges))


def _average_precision(hits: BoolArray, truths: int) -> float:
    """The mean over `RECALL_LEVELS` of the best precision at that recall or more; `hits` by falling confidence."""
    true_positives = np.cumsum(hits)
    recall = true_positives / truths
    precision = true_positives / (np.arange(1, len(hits) + 1) + np.spacing(1))
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(best[np.searchsorted(recall, RECALL_LEVELS, side="left")].mean())
