"""Distances on the sphere against scikit-learn, and latitudes that do not exist."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import haversine_distances

from mlebench.metrics.geodesic import EARTH_RADIUS, haversine_distance

PLACES = st.lists(
    st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.floats(-90, 90), st.floats(-180, 180)), min_size=1
)


@given(PLACES)
def test_equals_scikit_learn(rows):
    table = np.array(rows)
    expected = np.diag(haversine_distances(np.radians(table[:, :2]), np.radians(table[:, 2:]))) * EARTH_RADIUS
    assert haversine_distance(table[:, :2], table[:, 2:]) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_a_degree_along_the_equator():
    assert haversine_distance([[0, 10]], [[0, 11]], radius=1) == pytest.approx([math.radians(1)])


def test_a_latitude_beyond_the_pole_goes_on_behind_it():
    assert haversine_distance([[0, 0]], [[180, 0]], radius=1) == pytest.approx([math.pi])
    assert haversine_distance([[45, 0]], [[135, 180]], radius=1) == pytest.approx([0], abs=1e-7)


@pytest.mark.parametrize(
    "pair", [([[0, 0]], [[0, math.nan]]), ([[0, 0]], [[0, 0], [0, 0]]), ([0], [0])], ids=["NaN", "rows", "one column"]
)
def test_anything_else_is_refused(pair):
    with pytest.raises(ValueError):
        haversine_distance(*pair)
