"""Logarithmic losses and the probabilistic F1, against scikit-learn, SciPy and the definitions."""

import math

import numpy as np
import pytest
import scipy.special
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlebench.metrics.classification import probabilistic_f1_score
from mlebench.metrics.log_loss import binary_log_loss, kl_divergence_loss, weighted_multilabel_log_loss

PROBABILITIES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 5e-324, 1e-16, 1 - 1e-16, 0.5]))
CERTAIN_MISTAKE = 36.04365338911715


@st.composite
def events(draw, probabilities=PROBABILITIES):
    """Truths of both classes and probabilities, shape (rows,)."""
    rows = draw(st.integers(2, 40))
    truth = draw(arrays(np.int64, rows, elements=st.integers(0, 1)).filter(lambda values: 0 < values.sum() < rows))
    return truth, draw(arrays(np.float64, rows, elements=probabilities))


@st.composite
def label_tables(draw):
    """Truths and probabilities of shape (rows, labels), and two weights a label."""
    shape = draw(st.integers(1, 20)), draw(st.integers(1, 8))
    weights = st.lists(st.integers(1, 20), min_size=shape[1], max_size=shape[1])
    return (
        draw(arrays(np.int64, shape, elements=st.integers(0, 1))),
        draw(arrays(np.float64, shape, elements=PROBABILITIES)),
        draw(weights),
        draw(weights),
    )


@st.composite
def distributions(draw):
    """Votes as shares of their rows, zeros among them, and probabilities of the same shape."""
    shape = draw(st.integers(1, 20)), draw(st.integers(1, 6))
    votes = draw(arrays(np.int64, shape, elements=st.integers(0, 20)).filter(lambda table: table.sum(axis=1).all()))
    return votes / votes.sum(axis=1, keepdims=True), draw(arrays(np.float64, shape, elements=PROBABILITIES))


# --- binary log loss


@given(events())
def test_binary_log_loss_is_that_of_scikit_learn(pair):
    assert binary_log_loss(*pair) == pytest.approx(sklearn.metrics.log_loss(*pair), rel=1e-12, abs=1e-15)


@given(events(), st.sampled_from([1e-15, 1e-7, 0.01]))
def test_binary_log_loss_clips_where_it_is_told_to(pair, clip):
    truth, probabilities = pair
    clipped = np.clip(probabilities, clip, 1 - clip)
    expected = np.mean([-math.log(p if y else 1 - p) for y, p in zip(truth, clipped, strict=True)])
    assert binary_log_loss(truth, probabilities, clip=clip) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_a_certain_mistake_costs_the_same_either_way():
    assert binary_log_loss(np.array([1, 0]), np.array([0, 1])) == pytest.approx(CERTAIN_MISTAKE)
    assert binary_log_loss(np.array([True, False]), np.array([1.0, 0.0])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("truth", [0, 1])
def test_binary_log_loss_of_one_class_is_undefined(truth):
    assert math.isnan(binary_log_loss(np.full(3, truth), np.full(3, 0.5)))


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([0, 1], [0.5], "shape"),
        ([], [], "no rows"),
        ([0, 2], [0.5, 0.5], "other values"),
        ([0, 1], [0.5, np.nan], "NaN"),
        ([0, 1], [0.5, np.inf], "NaN"),
        ([[0], [1]], [[0.5], [0.5]], "not (rows,)"),
    ],
)
@pytest.mark.parametrize("metric", [binary_log_loss, probabilistic_f1_score])
def test_what_is_no_event_is_refused(metric, truth, prediction, message):
    with pytest.raises(ValueError) as caught:
        metric(np.array(truth), np.array(prediction))
    assert message in str(caught.value)


# --- weighted multi-label log loss


@given(label_tables())
def test_weighted_log_loss_is_its_definition(table):
    truth, probabilities, positive, negative = table
    rows = []
    for labels, guesses in zip(truth, np.clip(probabilities, 1e-15, 1 - 1e-15), strict=True):
        weights = [positive[j] if y else negative[j] for j, y in enumerate(labels)]
        losses = [-math.log(p if y else 1 - p) for y, p in zip(labels, guesses, strict=True)]
        rows.append(np.average(losses, weights=weights))
    found = weighted_multilabel_log_loss(truth, probabilities, positive_weights=positive, negative_weights=negative)
    assert found == pytest.approx(np.mean(rows), rel=1e-12, abs=1e-14)


@given(events())
def test_weights_of_one_label_do_not_matter(pair):
    truth, probabilities = (array[:, None] for array in pair)
    found = weighted_multilabel_log_loss(truth, probabilities, positive_weights=[7], negative_weights=[3])
    assert found == pytest.approx(binary_log_loss(*pair, clip=1e-15), rel=1e-12, abs=1e-14)


def test_certain_mistakes_differ_by_what_a_float_can_hold():
    def of(truth, guess):
        return weighted_multilabel_log_loss(
            np.array([[truth]]), np.array([[guess]]), positive_weights=[1], negative_weights=[1]
        )

    assert of(0, 1) == pytest.approx(34.53958, abs=5e-6)
    assert of(1, 0) == pytest.approx(34.53878, abs=5e-6)


@pytest.mark.parametrize(("positive", "negative"), [([1], [1, 1]), ([1, 1], [1]), ([1, 1, 1], [1, 1, 1])])
def test_there_is_a_weight_for_each_label(positive, negative):
    with pytest.raises(ValueError, match="weights"):
        weighted_multilabel_log_loss(np.eye(2), np.eye(2), positive_weights=positive, negative_weights=negative)


# --- Kullback-Leibler divergence


@given(distributions(), st.sampled_from([1e-15, 1e-3]))
def test_divergence_is_that_of_scipy(pair, clip):
    truth, probabilities = pair
    expected = scipy.special.rel_entr(truth, np.clip(probabilities, clip, 1 - clip)).sum(axis=1).mean()
    assert kl_divergence_loss(truth, probabilities, clip=clip) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@given(distributions())
def test_divergence_of_equal_distributions_is_zero(pair):
    assert kl_divergence_loss(pair[0], pair[0]) == pytest.approx(0, abs=1e-14)


def test_divergence_without_clipping_may_be_infinite():
    truth, guess = np.array([[0.5, 0.5, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    assert kl_divergence_loss(truth, guess, clip=0) == math.inf
    assert kl_divergence_loss(truth, guess) < math.inf
    assert kl_divergence_loss(truth, np.array([[0.5, 0.5, 0.0]]), clip=0) == 0


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([[1.0]], [[1.0, 0.0]], "shape"),
        ([1.0], [1.0], "not (rows, classes)"),
        ([[-0.5, 1.5]], [[0.5, 0.5]], "negative"),
        ([[0.5, 0.5]], [[0.5, np.nan]], "NaN"),
    ],
)
def test_what_is_no_distribution_is_refused(truth, prediction, message):
    with pytest.raises(ValueError) as caught:
        kl_divergence_loss(np.array(truth), np.array(prediction))
    assert message in str(caught.value)


# --- probabilistic F1


@given(events(st.one_of(PROBABILITIES, st.floats(-2, 3))))
def test_probabilistic_f1_is_its_definition(pair):
    truth, predictions = pair
    clipped = np.clip(predictions, 0, 1)
    true, false = clipped[truth == 1].sum(), clipped[truth == 0].sum()
    precision = true / (true + false) if true + false > 0 else 0
    recall = true / truth.sum()
    expected = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
    assert probabilistic_f1_score(truth, predictions) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(events(st.sampled_from([0.0, 1.0])))
def test_probabilistic_f1_of_decisions_is_that_of_scikit_learn(pair):
    expected = sklearn.metrics.f1_score(*pair, zero_division=0)
    assert probabilistic_f1_score(*pair) == pytest.approx(expected, abs=1e-12)


def test_probabilistic_f1_without_positives_is_undefined():
    assert math.isnan(probabilistic_f1_score(np.zeros(3), np.ones(3)))
