"""The Hausdorff distance beside SciPy's, which compares all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import directed_hausdorff

from mlebench.metrics import volumes as volumes_module
from mlebench.metrics.volumes import hausdorff_distance

volumes = hnp.arrays(
    bool, st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)), elements=st.booleans(), fill=st.booleans()
)
spacings = st.tuples(*[st.sampled_from([1.0, 0.1, 1 / 3, 7.0])] * 3)


def by_all_pairs(first, second, spacing):
    first, second = first * np.array(spacing), second * np.array(spacing)
    return max(directed_hausdorff(first, second)[0], directed_hausdorff(second, first)[0])


@given(volumes, st.data(), spacings)
def test_is_that_of_all_pairs(volume, data, spacing):
    other = data.draw(hnp.arrays(bool, volume.shape, elements=st.booleans(), fill=st.booleans()))
    first, second = np.argwhere(volume), np.argwhere(other)
    if len(first) == 0 or len(second) == 0:
        with pytest.raises(ValueError, match="at least one voxel"):
            hausdorff_distance(first, second)
        return
    found = hausdorff_distance(first, second, spacing=spacing)
    assert found == pytest.approx(by_all_pairs(first, second, spacing), rel=1e-12)
    assert found == hausdorff_distance(second, first[::-1], spacing=spacing)


@pytest.mark.parametrize("shift", [(0, 0, 0), (2, 0, 0), (0, 3, 4), (5, 5, 5), (40, 0, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_larger_bodies_and_speckles(shift, seed):
    rng = np.random.default_rng(seed)
    grid = np.mgrid[:24, :24, :24]
    body = ((grid - rng.integers(8, 16, (3, 1, 1, 1))) ** 2).sum(axis=0) < 36
    speckled = body ^ (rng.random(body.shape) < 0.01)
    first, second = np.argwhere(body), np.argwhere(speckled) + shift
    spacing = (1 / 24, 1 / 30, 1 / 30)
    assert hausdorff_distance(first, second, spacing=spacing) == pytest.approx(by_all_pairs(first, second, spacing))


def test_many_voxels_that_are_equally_far():
    """A slanted plate and its shifted copy: every voxel has a neighbour of its own."""
    first, second, third = np.mgrid[:40, :40, :40]
    plate = np.argwhere(np.abs(first + second - third) < 2)
    shifted = plate + np.array([2, 3, -2])
    spacing = (0.5, 0.3, 0.4)
    assert hausdorff_distance(plate, shifted, spacing=spacing) == pytest.approx(by_all_pairs(plate, shifted, spacing))


def test_looking_around_finds_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    looked_around = 0
    for _ in range(60):
        shape = rng.integers(2, 9, 3)
        first, second = (np.argwhere(rng.random(shape) < 0.15) for _ in range(2))
        if len(first) == 0 or len(second) == 0:
            continue
        spacing = rng.choice([0.1, 1 / 3, 1.0], 3)
        expected = by_all_pairs(first, second, spacing)
        with monkeypatch.context() as patch:
            patch.setattr(volumes_module, "_PATIENCE", 1)
            patch.setattr(volumes_module, "_ball_size", lambda *_: 0)
            patch.setattr(volumes_module, "_bounds_along_axes", far_bounds)
            assert hausdorff_distance(first, second, spacing=spacing) == pytest.approx(expected, rel=1e-12)
            looked_around += 1
    assert looked_around > 20


def far_bounds(points, surface, shape, steps):
    return np.full(points.shape[1], float(np.sum((np.array(shape) * steps) ** 2)))


def test_far_away_and_wrong_shapes():
    assert hausdorff_distance(np.array([[-5, 0, 0]]), np.array([[7, 3, 4]])) == 13
    with pytest.raises(ValueError, match="shape"):
        hausdorff_distance(np.zeros((2, 2), dtype=int), np.zeros((2, 3), dtype=int))
