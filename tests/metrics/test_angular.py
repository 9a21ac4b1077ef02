"""The angle between directions against vectors and their cross product, and where it is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlebench.metrics.angular import mean_angular_error

DIRECTIONS = st.integers(1, 30).flatmap(
    lambda rows: st.tuples(*[arrays(float, (rows, 2), elements=st.floats(-20, 20))] * 2)
)


def _vectors(directions):
    azimuth, zenith = directions.T
    return np.stack([np.cos(azimuth) * np.sin(zenith), np.sin(azimuth) * np.sin(zenith), np.cos(zenith)], axis=1)


@given(DIRECTIONS)
def test_equals_the_angle_between_the_vectors(pair):
    first, second = map(_vectors, pair)
    sine = np.linalg.norm(np.cross(first, second), axis=1)
    expected = np.arctan2(sine, (first * second).sum(axis=1)).mean()
    assert mean_angular_error(*pair) == pytest.approx(expected, abs=1e-7)


@given(DIRECTIONS)
def test_symmetric_bounded_and_zero_on_equal_input(pair):
    first, second = pair
    assert mean_angular_error(first, second) == pytest.approx(mean_angular_error(second, first), abs=1e-7)
    assert 0 <= mean_angular_error(first, second) <= math.pi
    assert mean_angular_error(first, first) == pytest.approx(0, abs=1e-7)


@given(DIRECTIONS, st.integers(-3, 3))
def test_a_whole_turn_changes_nothing(pair, turns):
    turned = pair[1] + 2 * math.pi * turns
    assert mean_angular_error(pair[0], turned) == pytest.approx(mean_angular_error(*pair), abs=1e-6)


def test_the_opposite_direction_is_half_a_turn_away():
    assert mean_angular_error([[0.5, 1.0]], [[0.5 + math.pi, math.pi - 1.0]]) == pytest.approx(math.pi)


@pytest.mark.parametrize(
    "pair",
    [([[0, 0]], [[0, math.nan]]), ([[0, math.inf]], [[0, 0]]), ([[0, 0]], [[0, 0], [0, 0]]), ([0], [0])],
    ids=["NaN", "infinite", "rows", "one column"],
)
def test_anything_else_is_refused(pair):
    with pytest.raises(ValueError):
        mean_angular_error(*pair)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        mean_angular_error(np.empty((0, 2)), np.empty((0, 2)))
