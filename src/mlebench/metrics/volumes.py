"""Distances between sets of voxels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_same_shape

if TYPE_CHECKING:
    from scipy.spatial import KDTree

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_NEAR = 3  # voxels along the axis on which they are largest: as far is looked around
_LOOKS = 20  # looks at a neighbour that cost as much as to add a voxel to a tree
_LARGE, _BLOCKS = 16, (8, 4, 2)  # voxels a side of a block
_ROUNDING = 1 + 1e-12  # distances that differ by less are equal


def hausdorff_distance(
    first: BoolArray, second: BoolArray, *, spacing: Sequence[float] | FloatArray = (1.0, 1.0, 1.0)
) -> float:
    """The farthest that a voxel of one set lies from the nearest of the other; 0 if the sets are equal.

    Both arrays: which voxels belong to the set, of the same shape with three axes; `spacing`: the distance of
    neighbours along each axis. The distance is Euclidean and exact up to rounding. Raises ValueError for other
    shapes and if a set is empty.
    Source: the larger of the two values of SciPy's `directed_hausdorff`, which compares all pairs of voxels.

    >>> first, second = np.zeros((2, 2, 3, 4), dtype=bool)
    >>> first[0, 0, 0] = first[0, 0, 3] = second[0, 0, 0] = second[0, 2, 0] = True
    >>> hausdorff_distance(first, second, spacing=(1, 1, 2))
    6.0
    """
    require_same_shape(first, second)
    if first.ndim != 3 or not first.any() or not second.any():
        raise ValueError(f"the sets have shape {first.shape}, or one is empty; each needs 3 axes and a voxel")
    steps = np.asarray(spacing, dtype=np.float64)
    box = _bounding_box(first | second)
    first, second = first[box].copy(), second[box].copy()  # contiguous
    return max(_farthest(first, second, steps), _farthest(second, first, steps))


def _bounding_box(grid: BoolArray) -> tuple[slice, ...]:
    """The smallest box that holds all that is set."""
    set_along = (np.flatnonzero(grid.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1)))
    return tuple(slice(int(places[0]), int(places[-1]) + 1) for places in set_along)


def _farthest(from_grid: BoolArray, to_grid: BoolArray, steps: FloatArray) -> float:
    """The distance of the voxel of `from_grid` that lies farthest from `to_grid`.

    All look around as long as that is cheap. The nearest voxels of those that found none are looked up in a tree.
    """
    away, surface = from_grid & ~to_grid, _surface(to_grid)
    looks = _LOOKS * int(np.count_nonzero(surface))
    if np.count_nonzero(away) < looks:
        places, distance = _look_around(_voxels(away), to_grid, steps, looks)
        if places.size == 0:
            return distance
        away = np.zeros_like(away)
        away[tuple(places)] = True
    return _farthest_by_tree(away, surface, steps) if away.any() else 0.0


def _voxels(grid: BoolArray) -> IntArray:
    """The coordinates of what is set, shape (3, voxels)."""
    return np.array(np.unravel_index(np.flatnonzero(grid), grid.shape))  # faster than nonzero


def _surface(grid: BoolArray) -> BoolArray:
    """The voxels with a neighbour outside: the nearest to any voxel outside is one of them."""
    inside = grid.copy()
    for axis in range(3):
        lines, centre = np.moveaxis(grid, axis, 0), np.moveaxis(inside, axis, 0)
        centre[1:] &= lines[:-1]
        centre[:-1] &= lines[1:]
    return grid & ~inside


def _look_around(places: IntArray, grid: BoolArray, steps: FloatArray, looks: int) -> tuple[IntArray, float]:
    """The places that see nothing of the grid nearby, and the distance at which the last of the others saw it.

    They look at one offset after the other, the shortest first, `looks` times altogether at most.
    """
    radius = _NEAR * steps.max()
    reach = np.floor(radius / steps).astype(int)
    around = np.mgrid[tuple(slice(-each, each + 1) for each in reach)].reshape(3, -1)
    distances = np.sqrt(((around * steps[:, None]) ** 2).sum(axis=0))
    order = np.argsort(distances, kind="stable")
    order = order[distances[order] <= radius]
    padded = np.pad(grid, [(each, each) for each in reach])
    seen = padded.ravel()
    numbers, offsets = (_numbers(voxels, padded.shape) for voxels in (places + reach[:, None], around))
    left, last = np.arange(len(numbers)), 0.0
    for offset, distance in zip(offsets[order].tolist(), distances[order].tolist(), strict=True):
        looks -= len(left)
        if len(left) == 0 or looks < 0:
            break
        left, last = left[~seen[numbers[left] + offset]], distance
    return places[:, left], last


def _numbers(voxels: IntArray, shape: Sequence[int]) -> IntArray:
    """The numbers of voxels, or of steps, in an array of this shape that is read row by row; shape (voxels,)."""
    return (voxels[0] * shape[1] + voxels[1]) * shape[2] + voxels[2]


def _farthest_by_tree(away: BoolArray, surface: BoolArray, steps: FloatArray) -> float:
    """The distance of the voxel of `away` that lies farthest from `surface`.

    One voxel of each block is looked up in a tree. Blocks that can't hold the farthest voxel, so far as that distance
    and their size tell, are left out; the others are divided further.
    """
    from scipy.spatial import KDTree

    tree = KDTree(_voxels(surface).T * steps, balanced_tree=False, compact_nodes=False)
    places = _voxels(_without_near_blocks(away, tree, steps))
    farthest = 0.0
    for size in _BLOCKS:
        blocks = places // size
        of_block = _numbers(blocks, blocks.max(axis=1) + 1)
        chosen = np.full(of_block.max() + 1, -1)
        chosen[of_block] = np.arange(len(of_block))
        chosen = chosen[chosen >= 0]
        distances = np.zeros(of_block.max() + 1)
        distances[of_block[chosen]] = tree.query(places[:, chosen].T * steps)[0]
        farthest = max(farthest, float(distances.max()))
        reach = np.sqrt((((size - 1) * steps) ** 2).sum())
        places = places[:, (distances[of_block] + reach) * _ROUNDING >= farthest]
    return max(farthest, float(tree.query(places.T * steps)[0].max()))


def _without_near_blocks(grid: BoolArray, tree: KDTree, steps: FloatArray) -> BoolArray:
    """`grid` without the large blocks that can't hold its farthest voxel, seen from their centres.

    For grids of millions of voxels, whose coordinates would fill much memory.
    """
    shape = [-(-length // _LARGE) for length in grid.shape]
    padded = np.pad(grid, [(0, count * _LARGE - length) for count, length in zip(shape, grid.shape, strict=True)])
    split = padded.reshape(shape[0], _LARGE, shape[1], _LARGE, shape[2], _LARGE)
    blocks = split
    for axis in (1, 2, 3):  # one after the other is faster than all at once
        blocks = np.asarray(blocks.any(axis=axis))
    reach = np.sqrt((((_LARGE - 1) / 2 * steps) ** 2).sum())
    distances = tree.query((_voxels(blocks).T * _LARGE + (_LARGE - 1) / 2) * steps)[0]
    blocks[blocks] = (distances + reach) * _ROUNDING >= distances.max() - reach
    split &= blocks[:, None, :, None, :, None]
    return padded[: grid.shape[0], : grid.shape[1], : grid.shape[2]]
