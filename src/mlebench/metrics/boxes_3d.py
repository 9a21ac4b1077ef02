"""Metrics of upright boxes in space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite

IntArray = npt.NDArray[np.int64]

IOU_THRESHOLDS: FloatArray = np.arange(0.5, 1.0, 0.05).round(2)
_PAIRS = 200_000  # boxes that are compared together
_CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2


def mean_average_precision_3d_score(
    y_true: FloatArray,
    y_pred: FloatArray,
    *,
    samples: int,
    thresholds: Sequence[float] | FloatArray = IOU_THRESHOLDS,
) -> float:
    """Mean over samples and thresholds of the mean average precision over the classes of a sample; 1 is perfect.

    `y_true`: shape (boxes, 9), columns sample, class, x, y, z, width, length, height, yaw; `y_pred`: shape
    (detections, 10), columns sample, class, confidence, and the same. (x, y, z) is the centre; the length lies
    along yaw, radians from the x axis, the width across. All finite, sizes above 0. Samples are numbered from 0
    to `samples` - 1. In each sample the classes of its true boxes count, others are ignored. Of a class, the
    detections are gone through by falling confidence, equal ones in their order; each looks at the true box with
    the largest intersection over union (of equal ones the first), and takes it if that exceeds the threshold and
    the box is free. Average precision is the area under the precision that is reached at a recall or a higher one.
    A class without detections has 0. Returns NaN if a sample has no true box. Raises ValueError for other shapes
    and values.
    Source: the metric of Lyft 3D Object Detection for Autonomous Vehicles, as its organisers' script has it.

    >>> box = [1.0, 2.0, 0.0, 2.0, 4.0, 1.5, 0.3]
    >>> true = np.array([[0, 7, *box], [1, 7, *box]])
    >>> mean_average_precision_3d_score(true, np.array([[0, 7, 0.9, *box]]), samples=2)
    0.5
    """
    _require_boxes(y_true, 9, "y_true")
    _require_boxes(y_pred, 10, "y_pred")
    keys, group = np.unique(y_true[:, :2], axis=0, return_inverse=True)  # a group: sample and class
    group = group.ravel()
    truths = np.bincount(group, minlength=len(keys))
    of_group = _find_rows(keys, y_pred[:, :2])
    order = np.lexsort((-y_pred[:, 2], of_group))
    order = order[of_group[order] >= 0]
    detections, of_group = y_pred[order, 3:], of_group[order]
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coordinates are no fault
        best, iou = _best_overlaps(y_true[:, 2:], group, detections, of_group)
    precisions = [_average_precisions(iou > threshold, best, of_group, truths) for threshold in thresholds]
    sample = keys[:, 0].astype(np.int64)
    classes = np.bincount(sample, minlength=samples)
    with np.errstate(invalid="ignore"):
        return float(np.mean(np.bincount(sample, np.mean(precisions, axis=0), minlength=samples) / classes))


def box_overlaps_3d(first: FloatArray, second: FloatArray) -> FloatArray:
    """Intersection over union of boxes x, y, z, width, length, height, yaw, row by row; both of shape (rows, 7).

    >>> box_overlaps_3d(np.array([[0, 0, 0, 2, 4, 2, 0.0]]), np.array([[0, 0, 1, 2, 4, 2, np.pi]])).round(6)
    array([0.333333])
    """
    tops = np.minimum(first[:, 2] + first[:, 5] / 2, second[:, 2] + second[:, 5] / 2)
    bottoms = np.maximum(first[:, 2] - first[:, 5] / 2, second[:, 2] - second[:, 5] / 2)
    both = _ground_overlap(first, second) * np.maximum(tops - bottoms, 0)
    union = first[:, 3:6].prod(axis=1) + second[:, 3:6].prod(axis=1) - both
    return np.clip(both / union, 0, 1)


def _ground_overlap(first: FloatArray, second: FloatArray) -> FloatArray:
    """The area that the ground rectangles of two boxes share, row by row.

    The corners of the first are put into the system of the second, in which that is a rectangle along the axes,
    and what lies outside is cut off, side by side.
    """
    turn = first[:, 6] - second[:, 6]
    corners = _turned(_CORNERS * first[:, None, [4, 3]], turn)
    polygon = corners + _turned((first[:, :2] - second[:, :2])[:, None], -second[:, 6])
    for axis, size in ((0, 4), (1, 3)):
        for sign in (1, -1):
            polygon = _cut(polygon, second[:, size, None] / 2 - sign * polygon[:, :, axis])
    x, y = polygon[:, :, 0], polygon[:, :, 1]
    return np.abs((x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)) / 2


def _turned(points: FloatArray, angles: FloatArray) -> FloatArray:
    """Points of shape (rows, points, 2) turned about the origin by the angle of their row."""
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    x, y = points[:, :, 0], points[:, :, 1]
    return np.stack([x * cosine - y * sine, x * sine + y * cosine], axis=2)


def _cut(polygon: FloatArray, inside: FloatArray) -> FloatArray:
    """Convex polygons (rows, corners, 2) without what lies at negative `inside` (rows, corners); one corner more.

    Corners that are not needed repeat another one, which leaves the area as it is.
    """
    following, after = np.roll(polygon, -1, axis=1), np.roll(inside, -1, axis=1)
    crosses = (inside >= 0) != (after >= 0)
    share = np.divide(inside, inside - after, out=np.zeros_like(inside), where=crosses)
    crossing = polygon + share[:, :, None] * (following - polygon)
    rows, corners = inside.shape
    candidates = np.stack([polygon, crossing], axis=2).reshape(rows, 2 * corners, 2)
    kept = np.stack([inside >= 0, crosses], axis=2).reshape(rows, 2 * corners)
    order = np.argsort(~kept, axis=1, kind="stable")[:, : corners + 1]
    cut = np.take_along_axis(candidates, order[:, :, None], axis=1)
    needed = np.take_along_axis(kept, order, axis=1)
    return np.where(needed[:, :, None], cut, cut[:, :1])


def _best_overlaps(
    true: FloatArray, group: IntArray, detections: FloatArray, of_group: IntArray
) -> tuple[IntArray, FloatArray]:
    """For each detection the true box of its group that it overlaps most, and how much; 0 and 0 without overlap."""
    best, most = np.zeros(len(detections), dtype=np.int64), np.zeros(len(detections))
    reach, true_reach = (np.hypot(boxes[:, 3], boxes[:, 4]) / 2 for boxes in (detections, true))
    for detection, truth in _pairs(of_group, group):
        apart = np.hypot(*(detections[detection, :2] - true[truth, :2]).T)
        near = apart < reach[detection] + true_reach[truth]
        seen, box = detection[near], truth[near]
        iou = box_overlaps_3d(detections[seen], true[box])
        order = np.lexsort((-box, iou, seen))  # the last pair of a detection is its best one
        last = order[np.append(seen[order][1:] != seen[order][:-1], True)[: len(order)]]
        best[seen[last]], most[seen[last]] = box[last], iou[last]
    return best, most


def _pairs(first: IntArray, second: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """All pairs of a place in `first` and one in `second` that hold the same, some places of `first` at a time."""
    by_group = np.argsort(second, kind="stable")
    begin = np.searchsorted(second[by_group], first, side="left")
    count = np.searchsorted(second[by_group], first, side="right") - begin
    block = np.cumsum(count) // _PAIRS
    for part in np.split(np.arange(len(first)), np.flatnonzero(np.diff(block)) + 1):
        places = np.repeat(begin[part] - np.cumsum(count[part]) + count[part], count[part])
        yield np.repeat(part, count[part]), by_group[places + np.arange(count[part].sum())]


def _average_precisions(passes: np.ndarray, best: IntArray, of_group: IntArray, truths: IntArray) -> FloatArray:
    """The average precision of each group, shape (groups,); detections by group and falling confidence.

    `passes`: whether a detection overlaps its best true box enough; the first that does takes it.
    """
    hits = np.zeros(len(passes), dtype=bool)
    tried = np.flatnonzero(passes)
    hits[tried[np.unique(best[tried], return_index=True)[1]]] = True
    before = np.searchsorted(of_group, of_group, side="left")  # where the group begins
    found = np.cumsum(hits)
    found = found - np.concatenate([[0], found])[before]
    precision = found / (np.arange(len(hits)) - before + 1)
    raised = precision + 2.0 * (len(truths) - of_group)  # later groups can't reach into earlier ones
    reached = np.maximum.accumulate(raised[::-1])[::-1] - 2.0 * (len(truths) - of_group)
    return np.bincount(of_group[hits], reached[hits], minlength=len(truths)) / truths


def _find_rows(keys: FloatArray, rows: FloatArray) -> IntArray:
    """The place of each row in `keys`, which are sorted; -1 if it is not there."""
    both, places = np.unique(np.concatenate([keys, rows]), axis=0, return_inverse=True)
    place_of = np.full(len(both), -1, dtype=np.int64)
    place_of[places.ravel()[: len(keys)]] = np.arange(len(keys))
    return place_of[places.ravel()[len(keys) :]]


def _require_boxes(boxes: FloatArray, columns: int, name: str) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != columns:
        raise ValueError(f"{name} has shape {boxes.shape}, not (boxes, {columns})")
    require_finite(**{name: boxes})
    if (boxes[:, -4:-1] <= 0).any():
        raise ValueError(f"{name} holds boxes whose size is not above 0")
