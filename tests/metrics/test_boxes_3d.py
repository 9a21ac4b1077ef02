"""Boxes in space: overlaps beside a clipper corner by corner, the metric beside a loop over its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.metrics import boxes_3d
from mlebench.metrics.boxes_3d import IOU_THRESHOLDS, box_overlaps_3d, mean_average_precision_3d_score

sizes = st.sampled_from([0.5, 1.0, 2.0, 4.7])
angles = st.sampled_from([0.0, math.pi / 2, math.pi, -0.4, 1.0, 3.0])
places = st.sampled_from([0.0, 0.5, 1.0, -1.5, 2.25])
boxes = st.tuples(places, places, places, sizes, sizes, sizes, angles)


def corners(box):
    x, y, _, width, length, _, yaw = box
    along, across = (math.cos(yaw), math.sin(yaw)), (-math.sin(yaw), math.cos(yaw))
    return [
        (
            x + a * length / 2 * along[0] + b * width / 2 * across[0],
            y + a * length / 2 * along[1] + b * width / 2 * across[1],
        )
        for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]


def clipped(polygon, window):
    """What of a convex polygon lies in a convex window, counter-clockwise, one side after the other."""
    for (ax, ay), (bx, by) in zip(window, window[1:] + window[:1], strict=True):
        sides = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for x, y in polygon]
        rest = []
        for place, (point, side) in enumerate(zip(polygon, sides, strict=True)):
            before, side_before = polygon[place - 1], sides[place - 1]
            if (side >= 0) != (side_before >= 0):
                share = side_before / (side_before - side)
                rest.append(tuple(p + share * (q - p) for p, q in zip(before, point, strict=True)))
            if side >= 0:
                rest.append(point)
        polygon = rest
    return polygon


def overlap(first, second):
    polygon = clipped(corners(first), corners(second))
    shoelace = (p[0] * q[1] - p[1] * q[0] for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True))
    height = min(b[2] + b[5] / 2 for b in (first, second)) - max(b[2] - b[5] / 2 for b in (first, second))
    both = abs(sum(shoelace)) / 2 * max(height, 0)
    return both / (math.prod(first[3:6]) + math.prod(second[3:6]) - both)


@given(boxes, boxes)
def test_overlaps_are_those_of_the_clipped_polygons(first, second):
    found = box_overlaps_3d(np.array([first]), np.array([second]))
    assert found == pytest.approx(overlap(first, second), abs=1e-9)


def test_many_random_overlaps():
    rng = np.random.default_rng(0)
    first, second = (
        np.column_stack([rng.normal(0, 2, (500, 3)), rng.uniform(0.5, 5, (500, 3)), rng.uniform(-7, 7, 500)])
        for _ in range(2)
    )
    expected = [overlap(*pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
    assert sum(value > 0 for value in expected) > 100
    np.testing.assert_allclose(box_overlaps_3d(first, second), expected, atol=1e-12)


def test_a_box_far_away_turned_by_half_a_circle_is_the_same():
    box = np.array([[1747.57, 2379.15, -20.2, 1.9, 4.7, 1.6, -0.35]])
    assert box_overlaps_3d(box, box + np.eye(7)[6] * math.pi) == pytest.approx(1)


def by_definition(true, predicted, samples):
    """The rules, box by box."""
    scores = []
    for sample in range(samples):
        here = [row for row in true if row[0] == sample]
        for threshold in IOU_THRESHOLDS:
            precisions = []
            for label in sorted({row[1] for row in here}):
                wanted = [row[2:] for row in here if row[1] == label]
                found = [row for row in predicted if row[0] == sample and row[1] == label]
                precisions.append(average_precision(wanted, sorted(found, key=lambda row: -row[2]), threshold))
            scores.append(np.mean(precisions))
    return np.mean(scores)


def average_precision(wanted, found, threshold):
    taken, hits = set(), []
    for row in found:
        overlaps = [overlap(row[3:], box) for box in wanted]
        best = int(np.argmax(overlaps))
        hits.append(overlaps[best] > threshold and best not in taken)
        if hits[-1]:
            taken.add(best)
    if not hits:
        return 0.0
    recall = np.concatenate([[0], np.cumsum(hits) / len(wanted), [1]])
    precision = np.concatenate([[0], np.cumsum(hits) / np.arange(1, len(hits) + 1), [0]])
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall) * precision[1:]))


@pytest.mark.parametrize("seed", range(12))
def test_the_metric_is_that_of_the_definition(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(boxes_3d, "_PAIRS", int(rng.choice([3, 10_000])))
    samples, count = 4, 30
    true = np.column_stack(
        [
            np.concatenate([np.arange(samples), rng.integers(0, samples, count - samples)]),
            rng.integers(0, 3, count),
            rng.uniform(-3, 3, (count, 2)),
            rng.normal(0, 0.1, count),
            rng.uniform(1.5, 3, (count, 3)),
            rng.uniform(-3, 3, count),
        ]
    )
    copies = true[rng.integers(0, count, 80)]
    copies[:, 2:] += rng.normal(0, 1, (80, 1)) ** 2 * rng.normal(0, 0.1, (80, 7))
    copies[:, 5:8] = np.maximum(copies[:, 5:8], 0.1)
    copies[:, 1] += rng.random(80) < 0.1
    predicted = np.insert(copies, 2, rng.integers(0, 5, 80) / 5, axis=1)
    found = mean_average_precision_3d_score(true, predicted, samples=samples)
    assert 0 < found < 1
    assert found == pytest.approx(by_definition(true.tolist(), predicted.tolist(), samples), abs=1e-12)


def test_a_hit_that_is_taken_is_a_false_alarm_even_if_another_box_is_free():
    true = np.array([[0, 1, 0, 0, 0, 2, 4, 2, 0.0], [0, 1, 0.2, 0, 0, 2, 4, 2, 0.0]])
    predicted = np.array([[0, 1, 0.9, 0, 0, 0, 2, 4, 2, 0.0], [0, 1, 0.8, 0.01, 0, 0, 2, 4, 2, 0.0]])
    assert mean_average_precision_3d_score(true, predicted, samples=1, thresholds=[0.5]) == 0.5


def test_no_detections_and_samples_without_a_box():
    true = np.array([[0, 1, 0, 0, 0, 2, 4, 2, 0.0]])
    assert mean_average_precision_3d_score(true, np.zeros((0, 10)), samples=1) == 0
    assert math.isnan(mean_average_precision_3d_score(true, np.zeros((0, 10)), samples=2))


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan])
def test_boxes_without_a_size_are_refused(size):
    true = np.array([[0, 1, 0, 0, 0, 2, 4, 2, 0.0]])
    with pytest.raises(ValueError, match="y_pred"):
        mean_average_precision_3d_score(true, np.array([[0, 1, 1, 0, 0, 0, 2, size, 2, 0.0]]), samples=1)
    with pytest.raises(ValueError, match="shape"):
        mean_average_precision_3d_score(true[:, 1:], np.zeros((0, 10)), samples=1)
