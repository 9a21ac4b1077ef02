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


def point_f1_score(y_true: FloatArray, y_pred: FloatArray) -> float:
    """F1 of labelled points that have to lie inside boxes of the same image and label; 1 is perfect.

    `y_true`: shape (boxes, 6), columns image, label, x, y, width, height, all finite. `y_pred`: shape (points, 4),
    columns image, label, x, y; a point that is not finite lies in no box. The boxes of an image are gone through
    in their order, and each takes the first point that lies inside, edges excluded, and is not taken yet. Points
    that are left over are false positives, boxes without a point false negatives; F1 is that of all images
    together, 0 if no box has a point. Raises ValueError for other shapes.
    Source: the metric of the Kuzushiji Recognition competition.

    >>> true = np.array([[0, 7, 10, 10, 5, 5], [0, 7, 30, 10, 5, 5]])
    >>> point_f1_score(true, np.array([[0, 7, 12, 12], [0, 7, 13, 13], [0, 8, 31, 12]]))
    0.4
    """
    _require_columns(y_true, 6, "y_true", "boxes")
    _require_columns(y_pred, 4, "y_pred", "points")
    box, point = _pairs_of_equals(y_true[:, :2], y_pred[:, :2])
    low, place = y_true[box, 2:4], y_pred[point, 2:]
    inside = ((low < place) & (place < low + y_true[box, 4:])).all(axis=1)
    box, point = box[inside], point[inside]
    turn = _places(y_true[:, :2], np.zeros(len(y_true)))
    no_preference = np.zeros(len(box))
    matched = _match(box, point, no_preference, turn[box], len(y_true), len(y_pred), prefer_earlier=True)
    return float(2 * matched.sum() / max(1, len(y_true) + len(y_pred)))


def mean_step_average_precision_score(
    y_true: FloatArray, y_pred: FloatArray, *, iou_threshold: float = 0.5, images: int | None = None
) -> float:
    """Mean over classes of the average precision, without interpolation, of detected boxes; 1 is perfect.

    `y_true`: shape (boxes, 6), columns image, class, x_min, y_min, x_max, y_max. `y_pred`: shape (detections, 7),
    columns image, class, confidence, x_min, y_min, x_max, y_max. All finite. Classes that `y_true` lacks are
    ignored. In each image, the detections of a class, the most confident first, take the free true box they
    overlap most (of equal ones the earlier), if intersection over union exceeds `iou_threshold`. The average
    precision of a class is the sum, over its distinct confidences from the highest, of precision times the rise of
    recall.

    `images`: how many images there are, if what was not detected is to count as well: then each true box that
    nothing took is added to the detections as a hit of confidence 0, and each image without detection or true box
    of the class as a false alarm of confidence 0. Raises ValueError for other shapes, no true box, or values that
    are not finite.
    Source: the grader of the published benchmark for SIIM-FISABIO-RSNA COVID-19 Detection, which hands these
    examples, with `images`, to scikit-learn's `average_precision_score`.

    >>> true = np.array([[0, 7, 10, 10, 30, 30], [1, 7, 0, 0, 5, 5]])
    >>> mean_step_average_precision_score(true, np.array([[0, 7, 0.9, 10, 10, 30, 30]]))
    0.5
    >>> round(mean_step_average_precision_score(true, np.array([[0, 7, 0.9, 10, 10, 30, 30]]), images=3), 4)
    0.8333
    """
    _require_boxes(y_true, y_pred)
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coordinates are no fault
        detection, truth = _pairs_of_equals(y_pred[:, :2], y_true[:, :2])
        iou = _corner_iou(y_pred[detection, 3:], y_true[truth, 2:])
    enough = iou > iou_threshold
    detection, truth, iou = detection[enough], truth[enough], iou[enough]
    turn = _places(y_pred[:, :2], -y_pred[:, 2])
    matched = _match(detection, truth, iou, turn[detection], len(y_pred), len(y_true), prefer_earlier=True)
    precisions = []
    for label in np.unique(y_true[:, 1]):
        found, present = y_pred[:, 1] == label, y_true[:, 1] == label
        hits, scores = matched[found], y_pred[found, 2]
        if images is not None:
            missed = int(present.sum() - hits.sum())
            empty = images - len(np.union1d(y_pred[found, 0], y_true[present, 0]))
            hits = np.concatenate([hits, np.ones(missed, bool), np.zeros(empty, bool)])
            scores = np.concatenate([scores, np.zeros(missed + empty)])
        precisions.append(_step_average_precision(hits, scores, truths=int(present.sum())))
    return float(np.mean(precisions))


def _step_average_precision(hits: BoolArray, scores: FloatArray, truths: int) -> float:
    """Sum of precision times the rise of recall over the distinct scores, falling; both of shape (examples,)."""
    order = np.argsort(-scores, kind="stable")
    found, falling = np.cumsum(hits[order]), scores[order]
    last = np.ones(len(falling), dtype=bool)  # of equal scores
    last[:-1] = falling[1:] != falling[:-1]
    found, predicted = found[last], np.arange(1, len(falling) + 1)[last]
    return float(np.sum(np.diff(found, prepend=0) * found / predicted) / truths)


def _corner_iou(first: FloatArray, second: FloatArray) -> FloatArray:
    """Intersection over union of boxes x_min, y_min, x_max, y_max, row by row; 0 if the union is not above 0."""
    sides = np.minimum(first[:, 2:], second[:, 2:]) - np.maximum(first[:, :2], second[:, :2])
    both = np.maximum(sides, 0).prod(axis=1)
    union = (first[:, 2:] - first[:, :2]).prod(axis=1) + (second[:, 2:] - second[:, :2]).prod(axis=1) - both
    return np.divide(both, union, out=np.zeros(len(both)), where=union > 0)


def _require_columns(boxes: FloatArray, columns: int, name: str, what: str) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != columns:
        raise ValueError(f"{name} has shape {boxes.shape}, not ({what}, {columns})")


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
    ranks[known] = _places(y_pred[known, :2], -y_pred[known, 2])
    return ranks


def _places(groups: FloatArray, keys: FloatArray) -> IntArray:
    """The place of each row among those of its group by rising key, from 0; of equal keys the earlier row is first."""
    order = np.lexsort((keys, groups[:, 1], groups[:, 0]))
    sorted_groups = groups[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (sorted_groups[1:] != sorted_groups[:-1]).any(axis=1)
    place = np.arange(len(order))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return places


def _overlapping(
    y_true: FloatArray, y_pred: FloatArray, candidates: IntArray, iou_threshold: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs of one of the `candidates` and a true box of its image and class that overlap enough.

    Returns detections, true boxes and intersections over union, all of shape (pairs,).
    """
    found, truth = _pairs_of_equals(y_pred[candidates, :2], y_true[:, :2])
    detection = candidates[found]
    iou = _iou(y_pred[detection, 3:], y_true[truth, 2:])
    enough = iou >= min(iou_threshold, 1 - 1e-10)
    return detection[enough], truth[enough], iou[enough]


def _pairs_of_equals(first: FloatArray, second: FloatArray) -> tuple[IntArray, IntArray]:
    """All pairs of a row of `first` and a row of `second` that are equal; both of shape (rows, 2), results (pairs,).

    Ordered by the rows of `first`, then by those of `second`.
    """
    _, image = np.unique(np.concatenate([first[:, 0], second[:, 0]]), return_inverse=True)
    classes, label = np.unique(np.concatenate([first[:, 1], second[:, 1]]), return_inverse=True)
    group = image * len(classes) + label
    group, others = group[: len(first)], group[len(first) :]
    by_group = np.argsort(others, kind="stable")
    begin = np.searchsorted(others[by_group], group, side="left")
    count = np.searchsorted(others[by_group], group, side="right") - begin
    places = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
    return np.repeat(np.arange(len(first)), count), by_group[places]


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
    numbered_from_zero: bool = False,
    prefer_earlier: bool = False,
) -> BoolArray:
    """Which detections take a true box, shape (detections,); all images and classes at once, rank by rank.

    Each takes the free one of the highest `iou`, of equal ones the later or the earlier.
    """
    matched, taken = np.zeros(detections, dtype=bool), np.zeros(truths, dtype=bool)
    order = np.lexsort((-truth if prefer_earlier else truth, iou, detection, rank))  # the pair to prefer last
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
