"""Average precision of boxes beside pycocotools, fed as edition v1 feeds it, and with ordinary numbering."""

import contextlib
import copy
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import average_precision_score

from mlebench import catalog
from mlebench.metrics.detection import (
    mean_average_precision_score,
    mean_step_average_precision_score,
    point_f1_score,
)

CORNERS = ["x_min", "y_min", "x_max", "y_max"]
V1 = {"iou_threshold": 0.4, "numbered_from_zero": True}


def coco_score(y_true, y_pred, sizes, *, first_number, iou_threshold=0.4, max_detections=100):
    """The mean average precision of COCOeval; annotations are numbered from `first_number` in their order."""
    classes = np.unique(y_true[:, 1])
    truth = [
        {"id": i, "image_id": int(row[0]), "category_id": row[1], "bbox": list(row[2:]), "area": 1.0, "iscrowd": 0}
        for i, row in enumerate(y_true, first_number)
    ]
    found = [
        {
            "id": i,
            "image_id": int(row[0]),
            "category_id": row[1],
            "score": row[2],
            "bbox": list(row[3:]),
            "area": size,
            "iscrowd": 0,
        }
        for i, (row, size) in enumerate(zip(y_pred, sizes, strict=True), first_number)
        if row[1] in classes
    ]
    images = sorted({int(row[0]) for row in [*y_true, *y_pred]})
    evaluation = COCOeval(_coco(truth, images, classes), _coco(found, images, classes), "bbox")
    evaluation.params.iouThrs = np.array([iou_threshold])
    evaluation.params.maxDets = [max_detections]
    evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"]
    return precision[precision > -1].mean()


def _coco(annotations, images, classes):
    coco = COCO()
    coco.dataset = {
        "images": [{"id": image} for image in images],
        "categories": [{"id": label} for label in classes],
        "annotations": copy.deepcopy(annotations),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
    return coco


def both(y_true, y_pred, sizes=None, *, numbered_from_zero=True, **options):
    """Our score and that of COCOeval."""
    y_true, y_pred = np.asarray(y_true, float), np.asarray(y_pred, float).reshape(-1, 7)
    sizes = y_pred[:, 5] * y_pred[:, 6] if sizes is None else np.asarray(sizes, float)
    options = {"iou_threshold": 0.4, **options}
    ours = mean_average_precision_score(y_true, y_pred, sizes=sizes, numbered_from_zero=numbered_from_zero, **options)
    return ours, coco_score(y_true, y_pred, sizes, first_number=1 - numbered_from_zero, **options)


coordinates = st.one_of(st.integers(-3, 12), st.floats(-5, 20), st.sampled_from([0.0, 1e-9, 1e6, 3e10]))
lengths = st.one_of(st.integers(-2, 8), st.floats(-5, 20), st.sampled_from([0.0, 1e6]))
true_rows = st.tuples(
    st.integers(0, 4), st.integers(0, 3), coordinates, coordinates, st.integers(1, 8), st.floats(1, 9)
)
predicted_rows = st.tuples(
    st.integers(0, 5),  # one image has no true box
    st.sampled_from([0, 1, 2, 3, 17, -3]),
    st.one_of(st.sampled_from([0.0, -1.0, 0.5, 0.9]), st.floats(-2, 2)),
    coordinates,
    coordinates,
    lengths,
    lengths,
)


@st.composite
def problems(draw):
    """True boxes sorted by image, detections in any order, about half of them near a true box, and sizes."""
    y_true = np.array(sorted(draw(st.lists(true_rows, min_size=1, max_size=14)), key=lambda row: row[0]), float)
    y_pred = np.array(draw(st.lists(predicted_rows, max_size=25)), float).reshape(-1, 7)
    for row in y_pred:
        if draw(st.booleans()):
            box = y_true[draw(st.integers(0, len(y_true) - 1))]
            row[[0, 1, 3, 4, 5, 6]] = box + np.append([0, 0], draw(st.tuples(*[st.sampled_from([0, 0, 0.5, 1])] * 4)))
    sizes = draw(st.lists(st.sampled_from([-1.0, 0.0, 5.0, 1e10, 1e11]), min_size=len(y_pred), max_size=len(y_pred)))
    return y_true, y_pred, np.array(sizes)


@given(problems(), st.booleans(), st.sampled_from([1, 2, 100]), st.sampled_from([0.4, 0.5, 1.0]))
def test_agrees_with_coco(problem, numbered_from_zero, max_detections, iou_threshold):
    ours, theirs = both(
        *problem,
        numbered_from_zero=numbered_from_zero,
        max_detections=max_detections,
        iou_threshold=iou_threshold,
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


BOX = [10, 10, 20, 20]
FAR = [500, 500, 20, 20]


def test_box_0_is_never_matched():
    y_true = [[0, 1, *BOX], [1, 1, *BOX]]
    y_pred = [[9, 1, 0.1, *FAR], [0, 1, 0.9, *BOX], [1, 1, 0.8, *BOX]]
    ours, theirs = both(y_true, y_pred)
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert ours < both(y_true, y_pred, numbered_from_zero=False)[0] == pytest.approx(1)


def test_detection_matched_to_box_0_is_dropped_if_its_size_is_out_of_range():
    y_true, y_pred = [[0, 1, *BOX], [1, 1, *BOX]], [[9, 1, 0.1, *FAR], [0, 1, 0.9, *BOX], [1, 1, 0.8, *BOX]]
    scores = [both(y_true, y_pred, [400, size, 400]) for size in (400, -1, 0, 1e10, 1.1e10)]
    for ours, theirs in scores:
        assert ours == pytest.approx(theirs, abs=1e-12)
    counted, negative, zero, large, too_large = (ours for ours, _ in scores)
    assert negative == too_large > counted == zero == large


def test_detection_0_hits_without_taking_its_box():
    y_true = [[0, 5, *FAR], [1, 1, *BOX], [2, 1, *BOX]]
    y_pred = [[1, 1, 0.9, *BOX], [1, 1, 0.8, *BOX], [2, 1, 0.7, *BOX]]
    ours, theirs = both(y_true, y_pred)
    assert ours == pytest.approx(theirs, abs=1e-12)
    moved = both(y_true, [y_pred[1], y_pred[0], y_pred[2]])  # detection 0 is the less confident one: no second hit
    assert moved[0] == pytest.approx(moved[1], abs=1e-12)
    assert ours > moved[0]


@pytest.mark.parametrize("ignored", [17, -3])
def test_ignored_detections_use_up_a_number(ignored):
    y_true = [[0, 5, *FAR], [1, 1, *BOX], [2, 1, *BOX]]
    y_pred = [[1, 1, 0.9, *BOX], [1, 1, 0.8, *BOX], [2, 1, 0.7, *BOX]]
    ours, theirs = both(y_true, [[0, ignored, 0.5, *FAR], *y_pred])
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert ours < both(y_true, y_pred)[0]


@pytest.mark.parametrize("place", [99, 100, 129])
def test_only_the_first_100_detections_of_an_image_and_class_count(place):
    y_true = [[0, 5, *FAR], [1, 1, *BOX]]
    y_pred = [[1, 1, 1 - i / 1000, *(BOX if i == place else FAR)] for i in range(130)]
    ours, theirs = both(y_true, y_pred)
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert (ours > 0) == (place < 100)


def test_the_limit_of_100_holds_for_each_class_alone():
    y_true = [[0, 5, *FAR], [1, 1, *BOX], [1, 2, *BOX]]
    y_pred = [[1, 1 + i % 2, 1 - i / 1000, *(BOX if i > 195 else FAR)] for i in range(200)]
    ours, theirs = both(y_true, y_pred)
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert ours > 0


def test_of_tied_confidences_the_lower_image_then_the_earlier_row_comes_first():
    y_true = [[0, 5, *FAR], [1, 1, *BOX], [2, 1, *BOX]]
    hit_first = [[9, 5, 0, *FAR], [1, 1, 0.5, *BOX], [2, 1, 0.5, *FAR]]
    hit_last = [[9, 5, 0, *FAR], [1, 1, 0.5, *FAR], [2, 1, 0.5, *BOX]]
    for y_pred in (hit_first, hit_last, [hit_first[0], *hit_first[:0:-1]]):
        ours, theirs = both(y_true, y_pred)
        assert ours == pytest.approx(theirs, abs=1e-12)
    assert both(y_true, hit_first)[0] > both(y_true, hit_last)[0]


@pytest.mark.parametrize("size", [[0, 20], [20, 0], [-20, -20], [-20, 20]])
def test_boxes_without_width_or_height_match_nothing(size):
    y_true = [[0, 5, *FAR], [1, 1, *BOX]]
    y_pred = [[9, 5, 0, *FAR], [1, 1, 0.5, 30, 30, *size], [1, 1, 0.6, 10, 10, *size]]
    ours, theirs = both(y_true, y_pred)
    assert ours == theirs == 0


def test_of_boxes_with_equal_overlap_the_later_is_taken():
    earlier, later = [0, 0, 10, 10], [4, 0, 10, 10]
    y_true = [[0, 5, *FAR], [1, 1, *earlier], [1, 1, *later]]
    between = [1, 1, 0.9, 2, 0, 10, 10]
    ours, theirs = both(y_true, [[9, 5, 0, *FAR], between, [1, 1, 0.8, *earlier]], iou_threshold=0.5)
    assert ours == pytest.approx(theirs, abs=1e-12)
    assert ours > both(y_true, [[9, 5, 0, *FAR], between, [1, 1, 0.8, *later]], iou_threshold=0.5)[0]


def test_absurd_coordinates_are_scored():
    y_pred = [[9, 5, 0, *FAR], [1, 1, 0.9, 1e300, -1e300, 1e300, 1e300], [1, 1, 0.8, *BOX]]
    ours, theirs = both([[0, 5, *FAR], [1, 1, *BOX]], y_pred, [1.0, 1.0, 1.0])
    assert ours == pytest.approx(theirs, abs=1e-12)


@st.composite
def submissions(draw):
    """Answers and a submission of the radiograph competition: rows repeated and in any order, any class."""
    boxes = {(f"image{image}", label) for image in range(4) for label in range(3) if draw(st.booleans())}
    boxes |= {(f"image{image}", 14) for image in range(4)}
    corner = st.integers(0, 6)
    answers = pd.DataFrame(
        [[image, label, draw(corner), draw(corner), 7, draw(st.integers(7, 9))] for image, label in sorted(boxes)],
        columns=["image_id", "class_id", *CORNERS],
    )
    classes = st.sampled_from(["0", "1", "1.0", "1.9", "2", "-0.5", "-1", "-3.2", "14", "14.99", "15", "1e300"])
    group = st.tuples(classes, st.sampled_from(["0.5", "0.9", "-1", "1e-3"]), *[corner.map(str)] * 2, *[classes] * 2)
    cells = st.lists(group, min_size=1, max_size=4).map(lambda groups: " ".join(" ".join(group) for group in groups))
    names = draw(st.permutations([f"image{image}" for image in range(4)] * 2))
    return answers, pd.DataFrame({"image_id": names, "PredictionString": [draw(cells) for _ in names]})


@given(submissions())
def test_the_radiograph_competition_scores_as_v1(problem):
    answers, submission = problem
    y_true = [[int(image[5:]), *rest] for image, *rest in answers.itertuples(index=False)]
    y_pred, sizes = [], []
    for image, cell in submission.itertuples(index=False):
        numbers = [float(word) for word in cell.split(" ")]
        for at in range(0, len(numbers), 6):
            label, confidence, x_min, y_min, x_max, y_max = numbers[at : at + 6]
            y_pred.append([int(image[5:]), int(label), confidence, x_min, y_min, x_max, y_max])
            sizes.append((x_max - x_min) * (y_max - y_min))
    theirs = coco_score(np.array(y_true, float), np.array(y_pred, float), sizes, first_number=0)
    ours = catalog.get("vinbigdata-chest-xray-abnormalities-detection").score(submission, answers)
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_perfect_detections_score_1():
    y_true = np.array([[0, 1, *BOX], [0, 1, *FAR], [3, 2, *BOX]], float)
    assert mean_average_precision_score(y_true, np.insert(y_true, 2, 0.5, axis=1)) == pytest.approx(1, abs=1e-12)


def test_no_detection_scores_0():
    assert mean_average_precision_score(np.array([[0, 1, *BOX]], float), np.zeros((0, 7)), **V1) == 0


@pytest.mark.parametrize("shape", [(0, 7), (2, 6), (7,)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        mean_average_precision_score(np.ones((1, 6)) if shape != (0, 7) else np.ones((0, 6)), np.ones(shape))


def test_values_that_are_not_finite_are_refused():
    y_pred = np.ones((1, 7))
    y_pred[0, 2] = np.nan
    with pytest.raises(ValueError, match="y_pred"):
        mean_average_precision_score(np.ones((1, 6)), y_pred)


labels, grid = st.integers(0, 1), st.integers(0, 6)
page_boxes = st.lists(st.tuples(labels, labels, grid, grid, st.integers(1, 4), st.integers(1, 4)), max_size=8)
page_points = st.lists(
    st.tuples(labels, labels, grid.map(lambda n: n + 0.5) | grid, grid | st.just(np.nan)), max_size=8
)


def points_found(true, points):
    """The rules of the points, box by box."""
    left = list(points)
    hits = 0
    for image, label, x, y, width, height in true:
        for point in left:
            if point[:2] == (image, label) and x < point[2] < x + width and y < point[3] < y + height:
                left.remove(point)
                hits += 1
                break
    return hits


@given(page_boxes, page_points)
def test_point_f1_is_that_of_the_definition(true, points):
    hits = points_found(true, points)
    precision, recall = hits / max(1, len(points)), hits / max(1, len(true))
    expected = 2 * precision * recall / (precision + recall) if hits else 0.0
    found = point_f1_score(np.array(true, dtype=float).reshape(-1, 6), np.array(points, dtype=float).reshape(-1, 4))
    assert found == pytest.approx(expected)


def test_the_first_fitting_point_is_used_up_even_if_another_box_needs_it():
    true = np.array([[0, 0, 0, 0, 10, 10], [0, 0, 0, 0, 4, 4]], dtype=float)
    both_fit = np.array([[0, 0, 2, 2], [0, 0, 8, 8]], dtype=float)
    assert point_f1_score(true, both_fit) == 0.5
    assert point_f1_score(true, both_fit[::-1]) == 1


@pytest.mark.parametrize("shapes", [((2, 5), (2, 4)), ((2, 6), (2, 3)), ((6,), (2, 4))])
def test_points_of_other_shapes_are_refused(shapes):
    with pytest.raises(ValueError, match="shape"):
        point_f1_score(*(np.zeros(shape) for shape in shapes))


corner_boxes = st.tuples(grid, grid, grid, grid)
confidences = st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.5])
rows = st.integers(0, 3)
corner_truths = st.lists(st.tuples(rows, labels, corner_boxes), min_size=1, max_size=8)
corner_detections = st.lists(st.tuples(rows, st.integers(0, 2), confidences, corner_boxes), max_size=10)


def corner_iou(first, second):
    both = max(0, min(first[2], second[2]) - max(first[0], second[0])) * max(
        0, min(first[3], second[3]) - max(first[1], second[1])
    )
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)) - both
    return both / union if union > 0 else 0.0


def examples(true, found, images, label):
    """Truth and score of all examples of a class, by the rules; and which of them are detections."""
    pairs = []
    for image in range(images):
        left = [box for row, name, box in true if (row, name) == (image, label)]
        mine = [(confidence, box) for row, name, confidence, box in found if (row, name) == (image, label)]
        if not left and not mine:
            pairs.append((0, 0.0, False))
        for confidence, box in sorted(mine, key=lambda each: -each[0]):
            overlaps = [corner_iou(box, other) for other in left]
            best = int(np.argmax(overlaps)) if overlaps else 0
            hit = bool(overlaps) and overlaps[best] > 0.5
            pairs.append((int(hit), confidence, True))
            if hit:
                left.pop(best)
        pairs += [(1, 0.0, False)] * len(left)
    return pairs


@given(corner_truths, corner_detections)
def test_step_average_precision_is_that_of_scikit_learn(true, found):
    y_true = np.array([[row, label, *box] for row, label, box in true], dtype=float)
    y_pred = np.array([[row, label, c, *box] for row, label, c, box in found], dtype=float).reshape(-1, 7)
    everything, detected = [], []
    for label in sorted({row[1] for row in true}):
        pairs = examples(true, found, 4, label)
        everything.append(average_precision_score([p[0] for p in pairs], [p[1] for p in pairs]))
        hits = [p for p in pairs if p[2]]
        share = sum(p[0] for p in hits) / sum(row[1] == label for row in true)
        detected.append(share * average_precision_score([p[0] for p in hits], [p[1] for p in hits]) if share else 0.0)
    assert mean_step_average_precision_score(y_true, y_pred, images=4) == pytest.approx(np.mean(everything))
    assert mean_step_average_precision_score(y_true, y_pred) == pytest.approx(np.mean(detected))


def test_an_overlap_of_exactly_the_threshold_is_none_and_of_equal_ones_the_earlier_is_taken():
    true = np.array([[0, 0, 0, 0, 2, 2]], dtype=float)
    assert mean_step_average_precision_score(true, np.array([[0, 0, 1, 0, 0, 2, 1]], dtype=float)) == 0
    assert mean_step_average_precision_score(true, np.array([[0, 0, 1, 0, 0, 2, 1.01]])) == 1
    twins = np.array([[0, 0, 0, 0, 9, 10], [0, 0, 1, 0, 10, 10]], dtype=float)
    fits_both, fits_the_first = [0, 0, 0.9, 0, 0, 10, 10], [0, 0, 0.8, -6, 0, 8, 10]
    assert mean_step_average_precision_score(twins, np.array([fits_both, fits_the_first], dtype=float)) == 0.5
