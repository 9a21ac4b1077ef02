"""Correlations beside SciPy's, and where they are undefined."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlebench.metrics.correlation import mean_columnwise_spearman_score, pearson_correlation_score

TIED = st.integers(-3, 3).map(float)
PLAIN = st.one_of(TIED, st.floats(-1e6, 1e6))
WILD = st.one_of(TIED, st.floats(-1e300, 1e300), st.sampled_from([5e-324, -0.0, 1e-320, 1.7e308, -1.7e308]))
ONE = st.just(1)


@st.composite
def pairs(draw, elements, columns=ONE):
    shape = draw(st.tuples(st.integers(2, 30), columns))
    return tuple(draw(arrays(np.float64, shape, elements=elements)) for _ in range(2))


def is_constant(values):
    return bool((values == values[0]).all())


@given(pairs(PLAIN))
def test_pearson_is_that_of_scipy(pair):
    truth, guess = (values.ravel() for values in pair)
    found = pearson_correlation_score(truth, guess)
    if is_constant(truth) or is_constant(guess):
        assert math.isnan(found)
    elif min(np.std(truth) / (1 + abs(truth.mean())), np.std(guess) / (1 + abs(guess.mean()))) > 1e-6:
        assert found == pytest.approx(scipy.stats.pearsonr(truth, guess)[0], abs=1e-9)


@given(pairs(WILD))
def test_pearson_stays_within_its_bounds_for_any_floats(pair):
    found = pearson_correlation_score(*(values.ravel() for values in pair))
    assert -1 <= found <= 1 or math.isnan(found)


@given(st.lists(st.integers(-1000, 1000), min_size=2, unique=True), st.sampled_from([1e-300, 1e-5, 1, 1e304]))
def test_pearson_does_not_depend_on_scale_or_shift(values, factor):
    values = np.array(values, dtype=float)
    assert pearson_correlation_score(values, values * factor) == pytest.approx(1)
    assert pearson_correlation_score(values, (7 - values) * factor) == pytest.approx(-1)


def test_pearson_of_integers_and_booleans():
    truth, guess = np.array([0, 1, 1, 0]), np.array([True, True, False, False])
    assert pearson_correlation_score(truth, guess) == 0
    assert pearson_correlation_score(truth, truth == 1) == pytest.approx(1)


@given(pairs(WILD, columns=st.integers(1, 5)))
def test_spearman_is_the_mean_of_scipys(pair):
    truth, guess = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
        columns = [scipy.stats.spearmanr(a, b).statistic for a, b in zip(truth.T, guess.T, strict=True)]
    found = mean_columnwise_spearman_score(truth, guess)
    assert found == pytest.approx(np.mean(columns), abs=1e-12, nan_ok=True)


@given(pairs(TIED))
def test_spearman_of_one_column_may_have_either_shape(pair):
    truth, guess = pair
    expected = mean_columnwise_spearman_score(truth, guess)
    assert mean_columnwise_spearman_score(truth[:, 0], guess[:, 0]) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("metric", [pearson_correlation_score, mean_columnwise_spearman_score])
def test_a_constant_has_no_correlation(metric):
    values = np.array([0.1, 0.2, 0.3])
    assert math.isnan(metric(values, np.full(3, 0.1)))
    assert math.isnan(metric(np.full(3, 1e300), values))
    assert math.isnan(metric(values[:1], values[:1]))


def test_one_constant_column_leaves_no_mean():
    truth = np.array([[0, 1], [1, 2], [2, 5]])
    assert math.isnan(mean_columnwise_spearman_score(truth, truth * [1, 0]))


@pytest.mark.parametrize("metric", [pearson_correlation_score, mean_columnwise_spearman_score])
@pytest.mark.parametrize(
    ("truth", "guess"),
    [([0, 1], [1]), ([], []), ([0, 1], [np.nan, 1]), ([0, np.inf], [0, 1]), (np.ones((2, 2, 2)), np.ones((2, 2, 2)))],
    ids=["shapes", "no rows", "NaN", "infinity", "three dimensions"],
)
def test_correlations_refuse(metric, truth, guess):
    with pytest.raises(ValueError):
        metric(truth, guess)


def test_pearson_takes_one_column():
    with pytest.raises(ValueError, match="2 columns"):
        pearson_correlation_score(np.eye(2), np.eye(2))
