"""Weighted and bias areas under ROC curves, beside scikit-learn's curves and the definitions."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlebench.metrics.roc import bias_roc_auc_score, bias_roc_aucs, power_mean, weighted_roc_auc_score


@st.composite
def ranked_rows(draw, least=2):
    """Both classes, and scores of which many are tied or almost."""
    rows = draw(st.integers(least, 40))
    truth = draw(arrays(np.int64, rows, elements=st.integers(0, 1)).filter(lambda values: 0 < values.sum() < rows))
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300), st.sampled_from([5e-324, -0.0, 1e-320]))
    return truth, draw(arrays(np.float64, rows, elements=score))


# --- weighted


def weighted_by_definition(truth, scores):
    """The published recipe: points are inserted at the edges, and each band is integrated up to (1, upper edge)."""
    false_rate, true_rate, _ = sklearn.metrics.roc_curve(truth, scores, pos_label=1)
    edges, weights = [0.0, 0.4, 1.0], [2, 1]
    for edge in edges:
        if edge not in true_rate:
            place = int(np.argmax(true_rate > edge))
            x, y = false_rate[place - 1 : place + 1], true_rate[place - 1 : place + 1]
            at = x[0] + (edge - y[0]) / (y[1] - y[0]) * (x[1] - x[0])
            false_rate, true_rate = np.insert(false_rate, place, at), np.insert(true_rate, place, edge)
    total = 0.0
    for low, high, weight in zip(edges[:-1], edges[1:], weights, strict=True):
        inside = (true_rate >= low) & (true_rate <= high)
        x, y = np.append(false_rate[inside], 1), np.append(true_rate[inside], high)
        total += weight * sklearn.metrics.auc(x, y - low)
    return total / (0.4 * 2 + 0.6 * 1)


@given(ranked_rows())
def test_weighted_auc_is_its_definition(pair):
    assert weighted_roc_auc_score(*pair) == pytest.approx(weighted_by_definition(*pair), abs=1e-12)


@given(ranked_rows())
def test_one_band_or_equal_weights_give_the_plain_area(pair):
    expected = sklearn.metrics.roc_auc_score(*pair)
    assert weighted_roc_auc_score(*pair, edges=(0, 1), weights=(3,)) == pytest.approx(expected, abs=1e-12)
    several = {"edges": (0, 0.2, 0.25, 0.5, 1), "weights": (1, 1, 1, 1)}
    assert weighted_roc_auc_score(*pair, **several) == pytest.approx(expected, abs=1e-12)


def test_weighted_auc_of_plain_cases():
    truth = np.array([0, 1] * 50)
    assert weighted_roc_auc_score(truth, truth) == 1
    assert weighted_roc_auc_score(truth, -truth) == 0
    assert weighted_roc_auc_score(truth, np.zeros(100)) == pytest.approx((2 * 0.32 + 0.18) / 1.4)
    assert weighted_roc_auc_score(truth == 1, truth == 1) == 1


def test_weighted_auc_of_one_class_is_undefined():
    assert math.isnan(weighted_roc_auc_score(np.ones(3), np.arange(3)))
    assert math.isnan(weighted_roc_auc_score(np.zeros(3), np.arange(3)))


@pytest.mark.parametrize(
    ("truth", "scores"),
    [([0, 1], [0.5]), ([], []), ([[0, 1]], [[0.1, 0.2]]), ([0, 2], [0.1, 0.2]), ([0, 1], [0.1, np.nan])],
    ids=["shapes", "no rows", "two dimensions", "another label", "NaN"],
)
def test_weighted_auc_refuses(truth, scores):
    with pytest.raises(ValueError):
        weighted_roc_auc_score(np.array(truth), np.array(scores))


# --- bias


@st.composite
def grouped_rows(draw):
    """Rows of which each group and its complement hold both classes."""
    truth, scores = draw(ranked_rows(least=9))
    count = draw(st.integers(1, 3))
    groups = draw(arrays(np.bool_, (len(truth), count)))
    truth[:4] = [0, 1, 0, 1]
    groups[:4] = [[True], [True], [False], [False]]
    return truth, scores, groups


@given(grouped_rows())
def test_bias_areas_are_those_of_the_subsets(rows):
    truth, scores, groups = rows
    found = bias_roc_aucs(truth, scores, groups)
    for group, areas in zip(groups.T, found, strict=True):
        background_positive = ((truth == 0) & group) | ((truth == 1) & ~group)
        background_negative = ((truth == 1) & group) | ((truth == 0) & ~group)
        subsets = [group, background_positive, background_negative]
        expected = [sklearn.metrics.roc_auc_score(truth[subset], scores[subset]) for subset in subsets]
        assert areas == pytest.approx(expected, abs=1e-12)


@given(grouped_rows())
def test_bias_score_is_its_definition(rows):
    truth, scores, groups = rows
    areas = bias_roc_aucs(truth, scores, groups)
    means = [
        0.0 if (column == 0).any() else (sum(area**-5 for area in column) / len(column)) ** (-1 / 5)
        for column in areas.T
    ]
    expected = 0.25 * sklearn.metrics.roc_auc_score(truth, scores) + 0.25 * sum(means)
    assert bias_roc_auc_score(truth, scores, groups=groups) == pytest.approx(expected, abs=1e-12)


def test_bias_score_of_plain_cases():
    truth = np.array([0, 1, 0, 1])
    groups = np.array([[True], [True], [False], [False]])
    assert bias_roc_auc_score(truth, truth, groups=groups) == 1
    assert bias_roc_auc_score(truth, np.zeros(4), groups=groups) == pytest.approx(0.5)
    assert bias_roc_auc_score(truth, -truth, groups=groups) == 0


def test_bias_score_is_undefined_where_a_class_is_lacking():
    truth = np.array([0, 1, 0, 1])
    assert math.isnan(bias_roc_auc_score(truth, truth, groups=np.zeros((4, 1), dtype=bool)))
    assert math.isnan(bias_roc_auc_score(truth, truth, groups=truth[:, None] == 1))


def test_bias_score_refuses_groups_of_other_rows():
    with pytest.raises(ValueError, match="groups"):
        bias_roc_auc_score(np.array([0, 1]), np.array([0, 1]), groups=np.ones((3, 1), dtype=bool))
    with pytest.raises(ValueError, match="groups"):
        bias_roc_auc_score(np.array([0, 1]), np.array([0, 1]), groups=np.ones(2, dtype=bool))


@given(arrays(np.float64, (4, 2), elements=st.floats(0.01, 1)))
def test_power_means_lie_between_the_extremes_and_fall_with_the_power(values):
    low, high = power_mean(values, -5), power_mean(values, 1)
    assert high == pytest.approx(values.mean(axis=0))
    assert (values.min(axis=0) - 1e-12 <= low).all()
    assert (low <= high + 1e-12).all()
