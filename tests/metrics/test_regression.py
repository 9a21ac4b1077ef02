"""The regression metrics against scikit-learn, and where they are undefined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn import metrics as sklearn_metrics

from mlebench import metrics
from mlebench.metrics import regression

REFERENCES = {
    "mean_absolute_error": sklearn_metrics.mean_absolute_error,
    "root_mean_squared_error": sklearn_metrics.root_mean_squared_error,
    "mean_columnwise_rms_error": sklearn_metrics.root_mean_squared_error,
    "mean_columnwise_rms_log_error": sklearn_metrics.root_mean_squared_log_error,
}
ERRORS = [getattr(regression, name) for name in REFERENCES]
SEVERAL_COLUMNS = [error for error in ERRORS if error is not regression.root_mean_squared_error]

every_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)


def _pairs(lowest, shapes):
    """Two float arrays of one shape, with repeated, huge, tiny and zero values among them."""
    values = st.one_of(
        st.floats(lowest, 1e150, exclude_min=True), st.sampled_from([0.0, -0.0, 0.5, 1e-300, 1e100, 5e-324])
    )
    return shapes.flatmap(
        lambda shape: st.tuples(arrays(float, shape, elements=values), arrays(float, shape, elements=values))
    )


def _agree(name, pair):
    expected = REFERENCES[name](*pair)
    assert metrics.find(name)(*pair) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("name", REFERENCES)
@given(pair=_pairs(-1, array_shapes(min_dims=1, max_dims=1, max_side=40)))
def test_one_column_equals_scikit_learn(name, pair):
    _agree(name, pair)


@pytest.mark.parametrize("name", [error.__name__ for error in SEVERAL_COLUMNS])
@given(pair=_pairs(-1, array_shapes(min_dims=2, max_dims=2, max_side=12)))
def test_several_columns_equal_scikit_learn(name, pair):
    _agree(name, pair)


@every_error
@given(pair=_pairs(-1e150, array_shapes(min_dims=1, max_dims=1, max_side=40)))
def test_zero_on_equal_input_and_symmetric(error, pair):
    truth, predicted = (np.abs(side) for side in pair)
    assert error(truth, truth) == 0
    assert error(truth, predicted) == error(predicted, truth) >= 0


@every_error
def test_integers_booleans_and_objects_count_as_floats(error):
    expected = error([1.0, 0.0, 2.0], [1.0, 1.0, 0.0])
    assert error(np.array([1, 0, 2]), np.array([True, True, False])) == expected
    assert error(np.array([1, 0, 2], dtype=object), np.array([True, 1.0, "0"], dtype=object)) == expected


@every_error
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(error, value):
    for pair in (([1.0, value], [1.0, 2.0]), ([1.0, 2.0], [1.0, value])):
        with pytest.raises(ValueError, match="NaN or infinite"):
            error(*pair)


@every_error
@pytest.mark.parametrize("pair", [([1.0], [1.0, 2.0]), ([], []), ([[1.0, 2.0]], [1.0, 2.0])], ids=str)
def test_shapes_must_agree_and_hold_a_row(error, pair):
    with pytest.raises(ValueError):
        error(*pair)


@pytest.mark.parametrize("value", [-1.0, -1.5, -1e300])
def test_logarithms_need_values_above_minus_one(value):
    for pair in (([0.0, value], [0.0, 0.0]), ([0.0, 0.0], [0.0, value])):
        with pytest.raises(ValueError, match="-1 or less"):
            regression.mean_columnwise_rms_log_error(*pair)


def test_an_overflow_is_an_infinite_error():
    assert regression.root_mean_squared_error([0.0], [1e200]) == math.inf


def test_columns_weigh_the_same_whatever_their_scale():
    truth, predicted = np.zeros((2, 2)), np.array([[1.0, 100.0], [1.0, 100.0]])
    assert regression.mean_columnwise_rms_error(truth, predicted) == 50.5


@given(pair=_pairs(-1e150, array_shapes(min_dims=1, max_dims=1, max_side=40)), decimals=st.integers(0, 4))
def test_rounded_as_python_rounds(pair, decimals):
    error = regression.mean_absolute_error(*pair)
    assert regression.mean_absolute_error(*pair, decimals=decimals) == round(error, decimals)


@pytest.mark.parametrize(("error", "rounded"), [(0.5, 0), (1.5, 2), (2.5, 2), (2.51, 3)])
def test_halves_are_rounded_to_the_even_number(error, rounded):
    assert regression.mean_absolute_error([0.0], [error], decimals=0) == rounded


def test_what_overflows_can_not_be_rounded():
    vast = np.full(4, 1e308)
    assert regression.mean_absolute_error(-vast, vast) == math.inf
    assert math.isnan(regression.mean_absolute_error(-vast, vast, decimals=0))


def _mean_log_by_definition(truth, predicted, groups, floor):
    logs = []
    for group in set(groups):
        errors = [abs(t - p) for t, p, g in zip(truth, predicted, groups, strict=True) if g == group]
        logs.append(math.log(max(sum(errors) / len(errors), floor)))
    return sum(logs) / len(logs)


ROWS_OF_GROUPS = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from(["1JHC", "2JHH", "3JHN"])), min_size=1
)


@given(rows=ROWS_OF_GROUPS, floor=st.sampled_from([1e-9, 0.5]))
def test_mean_log_absolute_error_is_as_defined(rows, floor):
    truth, predicted, groups = zip(*rows, strict=True)
    found = regression.mean_log_absolute_error(truth, predicted, groups=groups, floor=floor)
    assert found == pytest.approx(_mean_log_by_definition(truth, predicted, groups, floor), rel=1e-9, abs=1e-9)


def test_a_group_that_is_met_exactly_needs_a_floor():
    error = regression.mean_log_absolute_error
    assert error([1, 2], [1, 3], groups=["a", "b"]) == -math.inf
    assert error([1, 2], [1, 2], groups=["a", "b"], floor=1e-9) == pytest.approx(math.log(1e-9))
    assert math.isnan(error([1, 1e308], [1, -1e308], groups=["a", "b"]))
    assert error([1, 1e308], [1, -1e308], groups=["a", "b"], floor=1e-9) == math.inf


def test_each_row_needs_a_group():
    with pytest.raises(ValueError, match="shape"):
        regression.mean_log_absolute_error([1, 2], [1, 2], groups=["a"])


LAPLACE_ROWS = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=40
)


@given(rows=LAPLACE_ROWS)
def test_laplace_log_likelihood_is_as_defined(rows):
    values = []
    for truth, predicted, deviation in rows:
        clipped = max(deviation, 70)
        error = min(abs(truth - predicted), 1000)
        values.append(-math.sqrt(2) * error / clipped - math.log(math.sqrt(2) * clipped))
    table = np.array(rows)
    found = regression.laplace_log_likelihood_score(table[:, 0], table[:, 1:])
    assert found == pytest.approx(sum(values) / len(values), rel=1e-12)
    assert found <= -math.log(70 * math.sqrt(2)) + 1e-12


@pytest.mark.parametrize("predicted", [[[1.0]], [1.0, 2.0], [[1.0, math.nan]], [[math.inf, 1.0]], [[1.0, 1.0]] * 2])
def test_laplace_log_likelihood_needs_a_prediction_and_a_deviation(predicted):
    with pytest.raises(ValueError):
        regression.laplace_log_likelihood_score([1.0], predicted)
