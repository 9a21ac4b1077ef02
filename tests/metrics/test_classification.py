"""Labels and class probabilities, against scikit-learn and against the definitions."""

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlebench.metrics.classification import (
    accuracy_score,
    matthews_correlation_score,
    mean_columnwise_roc_auc_score,
    mean_ranks,
    micro_f1_score,
    multiclass_log_loss,
    quadratic_weighted_kappa_score,
    roc_auc_score,
    roc_curve,
    top_1_error,
)

ROWS = st.integers(1, 40)
EPSILON = 2.220446049250313e-16


def vectors(elements, rows):
    return arrays(np.float64, rows, elements=elements)


@st.composite
def label_pairs(draw, labels):
    rows = draw(ROWS)
    return tuple(np.array(draw(st.lists(labels, min_size=rows, max_size=rows))) for _ in range(2))


@st.composite
def class_probabilities(draw):
    """One-hot truth and probabilities, among them 0, 1 and the smallest numbers there are."""
    rows, classes = draw(ROWS), draw(st.integers(2, 6))
    truth = np.eye(classes, dtype=int)[draw(arrays(np.int64, rows, elements=st.integers(0, classes - 1)))]
    probability = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 5e-324, 1e-16, 1 - 1e-16]))
    return truth, draw(arrays(np.float64, (rows, classes), elements=probability))


@st.composite
def ranked_rows(draw):
    """Both classes, and scores of which many are tied or almost."""
    rows = draw(st.integers(2, 40))
    truth = draw(arrays(np.int64, rows, elements=st.integers(0, 1)).filter(lambda values: 0 < values.sum() < rows))
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300), st.sampled_from([5e-324, -0.0, 1e-320]))
    return truth, draw(vectors(score, rows))


# --- accuracy


@given(label_pairs(st.integers(-2, 2)))
def test_accuracy_is_that_of_scikit_learn(pair):
    assert accuracy_score(*pair) == pytest.approx(sklearn.metrics.accuracy_score(*pair), abs=1e-15)


# --- log loss


NAMES = st.sampled_from(["a", "b", "c", ""])


@given(label_pairs(st.integers(-2, 2)) | label_pairs(NAMES))
def test_top_1_error_and_micro_f1_are_those_of_scikit_learn(pair):
    assert top_1_error(*pair) == pytest.approx(1 - sklearn.metrics.accuracy_score(*pair), abs=1e-15)
    assert micro_f1_score(*pair) == pytest.approx(sklearn.metrics.f1_score(*pair, average="micro"), abs=1e-15)


@given(label_pairs(st.integers(0, 1)) | label_pairs(st.integers(-2, 2)) | label_pairs(NAMES))
def test_matthews_correlation_is_that_of_scikit_learn(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant labels
        expected = sklearn.metrics.matthews_corrcoef(*pair)
    assert matthews_correlation_score(*pair) == pytest.approx(expected, abs=1e-12)


@given(label_pairs(st.integers(0, 1)))
def test_matthews_correlation_of_two_classes_is_its_definition(pair):
    true, pred = (labels.astype(bool) for labels in pair)
    tp, tn, fp, fn = (int(part.sum()) for part in (true & pred, ~true & ~pred, ~true & pred, true & ~pred))
    denominator = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = (tp * tn - fp * fn) / denominator if denominator else 0
    assert matthews_correlation_score(*pair) == pytest.approx(expected, abs=1e-12)


def test_matthews_correlation_of_five_million_rows_does_not_overflow():
    true = np.arange(5_000_000) % 100 == 0
    assert matthews_correlation_score(true, true) == 1
    assert matthews_correlation_score(true, ~true) == -1


@pytest.mark.parametrize("metric", [top_1_error, micro_f1_score, matthews_correlation_score])
@pytest.mark.parametrize(("true", "pred"), [([1, 2], [1]), ([], [])])
def test_metrics_of_labels_refuse(metric, true, pred):
    with pytest.raises(ValueError):
        metric(np.array(true), np.array(pred))


@given(class_probabilities())
def test_log_loss_is_that_of_scikit_learn(pair):
    truth, probabilities = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows that don't add up to 1 are not rescaled
        expected = sklearn.metrics.log_loss(truth, probabilities)
    assert multiclass_log_loss(truth, probabilities) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(class_probabilities(), st.sampled_from([1e-15, 1e-7, 0.01]))
def test_log_loss_clips_where_it_is_told_to(pair, clip):
    truth, probabilities = pair
    clipped = np.clip(probabilities, clip, 1 - clip)
    expected = -(truth * np.log(clipped)).sum(axis=1).mean()
    assert multiclass_log_loss(truth, probabilities, clip=clip) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_log_loss_of_certain_predictions():
    truth = np.eye(3, dtype=int)
    assert multiclass_log_loss(truth, truth) == pytest.approx(EPSILON)
    assert multiclass_log_loss(truth, truth.astype(bool)) == pytest.approx(EPSILON)
    assert multiclass_log_loss(truth, np.roll(truth, 1, axis=1)) == pytest.approx(-math.log(EPSILON))


def test_log_loss_counts_a_class_without_rows_and_does_not_rescale():
    truth = np.array([[1, 0, 0], [1, 0, 0]])
    assert multiclass_log_loss(truth, np.array([[0.25, 0.25, 0.25], [0.5, 0.5, 1.0]])) == pytest.approx(
        (math.log(4) + math.log(2)) / 2
    )


@pytest.mark.parametrize(
    ("truth", "probabilities"),
    [
        (np.eye(2), np.full((2, 3), 0.5)),
        (np.ones(2), np.ones(2)),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array([[1, 1], [0, 1]]), np.full((2, 2), 0.5)),
        (np.array([[0, 0], [0, 1]]), np.full((2, 2), 0.5)),
        (np.array([[1, 0.5], [0, 1]]), np.full((2, 2), 0.5)),
        (np.eye(2), np.array([[np.nan, 0.5], [0.5, 0.5]])),
        (np.eye(2), np.array([[np.inf, 0.5], [0.5, 0.5]])),
    ],
    ids=["shapes", "one dimension", "no rows", "two classes", "no class", "soft truth", "NaN", "infinity"],
)
def test_log_loss_refuses(truth, probabilities):
    with pytest.raises(ValueError):
        multiclass_log_loss(truth, probabilities)


# --- quadratic weighted kappa


@given(label_pairs(st.integers(0, 4)) | label_pairs(st.integers(-1000, 1000)) | label_pairs(st.sampled_from([0, 4])))
def test_kappa_is_that_of_scikit_learn(pair):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # 0/0 where both hold one rating
        expected = sklearn.metrics.cohen_kappa_score(*pair, weights="quadratic")
    assert quadratic_weighted_kappa_score(*pair) == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@given(label_pairs(st.integers(0, 5)))
def test_kappa_is_its_definition_over_the_ratings_that_occur(pair):
    true, pred = pair
    ratings = sorted({*true.tolist(), *pred.tolist()})
    size = len(ratings)
    observed = np.array([[np.sum((true == a) & (pred == b)) for b in ratings] for a in ratings], dtype=float)
    by_chance = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(true)
    weights = np.array([[(i - j) ** 2 for j in range(size)] for i in range(size)])
    found = quadratic_weighted_kappa_score(true, pred)
    if size == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(1 - (weights * observed).sum() / (weights * by_chance).sum(), abs=1e-12)


@given(label_pairs(st.integers(0, 4)))
def test_kappa_takes_whole_numbers_written_as_floats(pair):
    true, pred = pair
    expected = quadratic_weighted_kappa_score(true, pred)
    assert quadratic_weighted_kappa_score(true, pred.astype(float)) == pytest.approx(expected, nan_ok=True)


def test_kappa_closes_the_gap_of_a_rating_that_nobody_gives():
    true, pred = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])
    expected = quadratic_weighted_kappa_score(true, pred)
    assert quadratic_weighted_kappa_score(true * 2, pred * 2) == expected
    assert quadratic_weighted_kappa_score(np.append(true, 3) * 2, np.append(pred, 4) * 2) != expected


@given(label_pairs(st.integers(1, 6)))
def test_kappa_on_a_fixed_scale_is_that_of_scikit_learn_with_labels(pair):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # 0/0 where both hold one rating
        expected = sklearn.metrics.cohen_kappa_score(*pair, weights="quadratic", labels=range(1, 7))
    found = quadratic_weighted_kappa_score(*pair, fixed_scale=True)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("rating", [1.5, 1001])
def test_a_fixed_scale_is_one_of_small_whole_numbers(rating):
    with pytest.raises(ValueError, match="whole number"):
        quadratic_weighted_kappa_score(np.array([1, 2]), np.array([1, rating]), fixed_scale=True)


def test_kappa_of_constant_ratings():
    assert math.isnan(quadratic_weighted_kappa_score(np.array([2, 2]), np.array([2, 2])))
    assert quadratic_weighted_kappa_score(np.array([0, 0]), np.array([3, 3])) == 0


def test_kappa_of_a_million_rows_is_exact():
    true = np.arange(1_000_000) % 1000
    assert quadratic_weighted_kappa_score(true, true) == 1
    assert quadratic_weighted_kappa_score(true, true[::-1]) == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize(
    ("true", "pred"), [([1, 2], [1]), ([], []), ([1, 2], [1, np.nan])], ids=["shapes", "no rows", "NaN"]
)
def test_kappa_refuses(true, pred):
    with pytest.raises(ValueError):
        quadratic_weighted_kappa_score(np.array(true), np.array(pred))


# --- area under the ROC curve


@given(ranked_rows())
def test_auc_and_curve_are_those_of_scikit_learn_to_the_last_bit(pair):
    assert roc_auc_score(*pair) == sklearn.metrics.roc_auc_score(*pair)
    for found, expected in zip(roc_curve(*pair), sklearn.metrics.roc_curve(*pair)[:2], strict=True):
        assert np.array_equal(found, expected)


def test_auc_on_the_border_between_two_rounded_ones_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 0], [32, 10])  # areas are multiples of 1 / 320, of which half have a 5 as sixth decimal
    for scores in rng.random((300, len(truth))):
        assert roc_auc_score(truth, scores) == sklearn.metrics.roc_auc_score(truth, scores)


@given(ranked_rows())
def test_auc_is_the_share_of_pairs_in_the_right_order(pair):
    truth, scores = pair
    positive, negative = scores[truth == 1][:, None], scores[truth == 0][None, :]
    wins = np.where(positive > negative, 1.0, np.where(positive == negative, 0.5, 0.0))
    assert roc_auc_score(truth, scores) == pytest.approx(wins.mean(), abs=1e-12)


def test_auc_takes_booleans():
    truth = np.array([0, 1, 1, 0])
    guess = np.array([True, True, False, False])
    assert roc_auc_score(truth.astype(bool), guess) == roc_auc_score(truth, guess.astype(int)) == 0.5


def test_auc_of_one_class_is_undefined():
    assert math.isnan(roc_auc_score(np.ones(3), np.array([0.1, 0.2, 0.3])))
    assert math.isnan(roc_auc_score(np.zeros(3), np.array([0.1, 0.2, 0.3])))


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        ([0, 1], [0.5]),
        ([], []),
        ([[0, 1]], [[0.1, 0.2]]),
        ([0, 2], [0.1, 0.2]),
        ([0, 1], [0.1, np.nan]),
        ([0, 1], [0.1, np.inf]),
    ],
    ids=["shapes", "no rows", "two dimensions", "another label", "NaN", "infinity"],
)
def test_auc_refuses(truth, scores):
    with pytest.raises(ValueError):
        roc_auc_score(np.array(truth), np.array(scores))


# --- mean over columns of the area under the ROC curve


@st.composite
def ranked_columns(draw):
    """Several columns of the same rows, each with both classes."""
    rows, columns = draw(st.integers(2, 20)), draw(st.integers(2, 5))
    labels = arrays(np.int64, rows, elements=st.integers(0, 1)).filter(lambda values: 0 < values.sum() < rows)
    truth = np.stack([draw(labels) for _ in range(columns)], axis=1)
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300))
    return truth, draw(arrays(np.float64, (rows, columns), elements=score))


@given(ranked_columns())
def test_columnwise_auc_is_that_of_scikit_learn(pair):
    assert mean_columnwise_roc_auc_score(*pair) == pytest.approx(
        sklearn.metrics.roc_auc_score(*pair, average="macro"), abs=1e-12
    )


@given(ranked_rows())
def test_columnwise_auc_of_one_column_is_its_auc(pair):
    truth, scores = pair
    assert mean_columnwise_roc_auc_score(truth[:, None], scores[:, None]) == roc_auc_score(truth, scores)


def test_columnwise_auc_is_undefined_as_soon_as_one_column_is():
    truth = np.array([[0, 1], [1, 1]])
    assert math.isnan(mean_columnwise_roc_auc_score(truth, truth))


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        (np.eye(2), np.full((2, 3), 0.5)),
        (np.array([0, 1]), np.array([0.1, 0.2])),
        (np.zeros((2, 0)), np.zeros((2, 0))),
        (np.zeros((0, 2)), np.zeros((0, 2))),
        (np.array([[0, 1], [2, 0]]), np.full((2, 2), 0.5)),
        (np.eye(2), np.array([[np.nan, 0.5], [0.5, 0.5]])),
        (np.eye(2), np.array([[0.5, 0.5], [0.5, np.inf]])),
    ],
    ids=["shapes", "one dimension", "no columns", "no rows", "another label", "NaN", "infinity"],
)
def test_columnwise_auc_refuses(truth, scores):
    with pytest.raises(ValueError):
        mean_columnwise_roc_auc_score(truth, scores)


@given(vectors(st.integers(-3, 3).map(float), ROWS))
def test_ranks_are_the_means_of_the_places_of_equal_values(values):
    smaller = (values[None, :] < values[:, None]).sum(axis=1)
    equal = (values[None, :] == values[:, None]).sum(axis=1)
    assert np.array_equal(mean_ranks(values), smaller + (equal + 1) / 2)
