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
NO_LOOKS = {"_LOOKS": 0}
SMALL_BLOCKS = {"_LOOKS": 0, "_LARGE": 3, "_BLOCKS": (2,)}
FEW_LOOKS = {"_LOOKS": 1, "_NEAR": 1}


@pytest.fixture(params=[{}, NO_LOOKS, SMALL_BLOCKS, FEW_LOOKS], ids=["as set", "tree", "small blocks", "few looks"])
def ways(request, monkeypatch):
    """The ways to the distance, which all lead to the same."""
    for name, value in request.param.items():
        monkeypatch.setattr(volumes_module, name, value)


def by_all_pairs(first, second, spacing):
    first, second = (np.argwhere(volume) * np.array(spacing) for volume in (first, second))
    return max(directed_hausdorff(first, second)[0], directed_hausdorff(second, first)[0])


@pytest.mark.usefixtures("ways")
def test_is_that_of_all_pairs():
    @given(volumes, st.data(), spacings)
    def check(first, data, spacing):
        second = data.draw(hnp.arrays(bool, first.shape, elements=st.booleans(), fill=st.booleans()))
        if not first.any() or not second.any():
            with pytest.raises(ValueError, match="one is empty"):
                hausdorff_distance(first, second)
            return
        found = hausdorff_distance(first, second, spacing=spacing)
        assert found == pytest.approx(by_all_pairs(first, second, spacing), rel=1e-12)
        assert found == hausdorff_distance(second, first, spacing=spacing)

    check()


def shifted(volume, shift):
    """The volume moved by some voxels; nothing may go past the end."""
    return np.roll(volume, shift, axis=(0, 1, 2))


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("shift", [(0, 0, 0), (2, 0, 0), (0, 3, 4), (5, 5, 5), (40, 0, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_larger_bodies_and_speckles(shift, seed):
    rng = np.random.default_rng(seed)
    grid = np.mgrid[:66, :30, :30]
    centre = rng.integers(8, 16, (3, 1, 1, 1))
    body = ((grid - centre) ** 2).sum(axis=0) < 36
    speckled = body ^ ((rng.random(body.shape) < 0.01) & (grid < 24).all(axis=0))
    second = shifted(speckled, shift)
    spacing = (1 / 24, 1 / 30, 1 / 30)
    found = hausdorff_distance(body, second, spacing=spacing)
    assert found == pytest.approx(by_all_pairs(body, second, spacing), rel=1e-12)


@pytest.mark.usefixtures("ways")
def test_many_voxels_that_are_equally_far():
    """A slanted plate and its shifted copy: every voxel has a neighbour of its own."""
    first, second, third = np.mgrid[:40, :40, :40]
    plate = np.zeros((46, 46, 46), dtype=bool)
    plate[:40, :40, 3:43] = np.abs(first + second - third) < 2
    copy = shifted(plate, (2, 3, -2))
    spacing = (0.5, 0.3, 0.4)
    assert hausdorff_distance(plate, copy, spacing=spacing) == pytest.approx(by_all_pairs(plate, copy, spacing))


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize(
    "dense",
    [
        lambda grid: (grid % 7 == 0).all(axis=0),
        lambda grid: grid[0] % 9 == 0,
        lambda grid: (grid[1] < 30) & (grid[2] > 10),
        lambda grid: np.random.default_rng(0).random(grid.shape[1:]) < 0.05,
    ],
    ids=["grid", "planes", "box", "noise"],
)
def test_dense_sets(dense):
    grid = np.mgrid[:20, :40, :50]
    body = ((grid - np.array([8, 22, 17])[:, None, None, None]) ** 2).sum(axis=0) < 50
    spacing = (1 / 20, 1 / 40, 1 / 50)
    found = hausdorff_distance(body, dense(grid), spacing=spacing)
    assert found == pytest.approx(by_all_pairs(body, dense(grid), spacing), rel=1e-12)


def test_far_away_and_wrong_shapes():
    first, second = np.zeros((2, 13, 4, 5), dtype=bool)
    first[0, 0, 0] = second[12, 3, 4] = True
    assert hausdorff_distance(first, second) == 13
    assert hausdorff_distance(first, first) == 0
    with pytest.raises(ValueError, match="shape"):
        hausdorff_distance(first[0], second[0])
    with pytest.raises(ValueError, match="shape"):
        hausdorff_distance(first, second[:, :2])
