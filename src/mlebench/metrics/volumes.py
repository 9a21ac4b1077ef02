"""Distances between sets of voxels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_ROUNDING = 1 + 1e-12  # squared distances that differ by less are equal
_PATIENCE = 50  # voxels that are measured one by one before it is asked whether to go on so


def hausdorff_distance(
    first: IntArray, second: IntArray, *, spacing: Sequence[float] | FloatArray = (1.0, 1.0, 1.0)
) -> float:
    """The farthest that a voxel of one set lies from the nearest of the other; 0 if the sets are equal.

    Both arrays: coordinates of voxels, whole numbers, shape (voxels, 3), in any order; `spacing`: the distance of
    neighbours along each axis. The distance is Euclidean and exact up to rounding. Raises ValueError for other
    shapes and if a set is empty.
    Source: the larger of the two values of SciPy's `directed_hausdorff`, which compares all pairs of voxels.

    >>> hausdorff_distance(np.array([[0, 0, 0], [0, 0, 3]]), np.array([[0, 0, 0], [0, 2, 0]]), spacing=(1, 1, 2))
    6.0
    """
    for name, voxels in (("first", first), ("second", second)):
        if voxels.ndim != 2 or voxels.shape[1] != 3 or len(voxels) == 0:
            raise ValueError(f"{name} has shape {voxels.shape}, not (voxels, 3) with at least one voxel")
    corner = np.minimum(first.min(axis=0), second.min(axis=0)) - 1  # a frame of empty voxels all around
    shape = tuple(np.maximum(first.max(axis=0), second.max(axis=0)) - corner + 2)
    grids = [_painted(voxels - corner, shape) for voxels in (first, second)]
    steps = np.asarray(spacing, dtype=np.float64)
    return float(np.sqrt(max(_farthest(grids[0], grids[1], steps), _farthest(grids[1], grids[0], steps))))


def _painted(voxels: IntArray, shape: tuple[int, ...]) -> BoolArray:
    grid = np.zeros(shape, dtype=bool)
    grid[tuple(voxels.T)] = True
    return grid


def _farthest(from_grid: BoolArray, to_grid: BoolArray, steps: FloatArray) -> float:
    """The squared distance of the voxel of `from_grid` that lies farthest from `to_grid`.

    Each voxel has an upper bound of its distance. The one with the highest is measured; its nearest neighbour
    lowers the bounds of the voxels around it, its distance is what the others have to exceed. Where many voxels
    are about equally far, so that this takes long, all of them look around step by step.
    """
    points, surface = _voxels(from_grid & ~to_grid), _voxels(_surface(to_grid))
    bounds = _bounds_along_axes(points, surface, from_grid.shape, steps)
    places, targets = points * steps[:, None], surface * steps[:, None]
    farthest = 0.0
    for turn in count():
        left = bounds > farthest * _ROUNDING
        places, bounds = places[:, left], bounds[left]
        if len(bounds) == 0:
            break
        if turn % _PATIENCE == _PATIENCE - 1 and _ball_size(bounds.max(), steps) < _PATIENCE * len(bounds):
            return max(farthest, _farthest_in_ball(places, bounds.max(), to_grid, steps))
        worst = int(np.argmax(bounds))
        place, reach = places[:, worst, None], np.sqrt(bounds[worst]) * _ROUNDING
        begin, end = np.searchsorted(targets[0], [place[0, 0] - reach, place[0, 0] + reach])
        squares = ((targets[:, begin:end] - place) ** 2).sum(axis=0)
        nearest = int(np.argmin(squares))
        farthest = max(farthest, float(squares[nearest]))
        bounds[worst] = squares[nearest]
        bounds = np.minimum(bounds, ((places - targets[:, begin + nearest, None]) ** 2).sum(axis=0))
    return farthest


def _ball_size(square: float, steps: FloatArray) -> float:
    """About how many voxels lie within the distance whose square is given."""
    return 4 / 3 * np.pi * square**1.5 / np.prod(steps)


def _farthest_in_ball(places: FloatArray, square: float, grid: BoolArray, steps: FloatArray) -> float:
    """The same for places, shape (3, voxels), all of which have a neighbour within the distance whose square is given.

    They look for it at one offset after the other, the shortest first.
    """
    reach = np.ceil(np.sqrt(square) / steps).astype(int)
    around = np.mgrid[tuple(slice(-each, each + 1) for each in reach)].reshape(3, -1)
    squares = ((around * steps[:, None]) ** 2).sum(axis=0)
    order: IntArray = np.argsort(squares)
    padded = np.pad(grid, [(each, each) for each in reach])
    flat = padded.ravel()
    left = np.asarray(
        np.ravel_multi_index(tuple(np.round(places / steps[:, None]).astype(int) + reach[:, None]), padded.shape)
    )
    offsets = np.array([padded.shape[1] * padded.shape[2], padded.shape[2], 1]) @ around
    for offset, distance in zip(offsets[order].tolist(), squares[order].tolist(), strict=True):
        left = left[~flat[left + offset]]
        if len(left) == 0:
            return distance
    raise ValueError("a place has no neighbour within that distance")


def _voxels(grid: BoolArray) -> IntArray:
    """The coordinates of what is set, shape (3, voxels), ascending by the first axis."""
    return np.array(np.unravel_index(np.flatnonzero(grid), grid.shape))


def _surface(grid: BoolArray) -> BoolArray:
    """The voxels with a neighbour outside: the nearest to any voxel outside is one of them."""
    inside = grid.copy()
    for axis in range(3):
        inside &= np.roll(grid, 1, axis) & np.roll(grid, -1, axis)
    return grid & ~inside


def _bounds_along_axes(points: IntArray, surface: IntArray, shape: tuple[int, ...], steps: FloatArray) -> FloatArray:
    """The smallest squared distance of each point to the surface along one of the axes, infinite if there is none."""
    bounds = np.full(points.shape[1], np.inf)
    for axis in range(3):
        order = [other for other in range(3) if other != axis] + [axis]
        sizes = tuple(shape[each] for each in order)
        lines = np.sort(np.ravel_multi_index(tuple(surface[order]), sizes))
        wanted = np.ravel_multi_index(tuple(points[order]), sizes)
        after = np.searchsorted(lines, wanted)
        for found in (np.maximum(after - 1, 0), np.minimum(after, len(lines) - 1)):
            same_line = lines[found] // sizes[-1] == wanted // sizes[-1]
            squares = ((lines[found] - wanted) * steps[axis]) ** 2
            bounds = np.minimum(bounds, np.where(same_line, squares, np.inf))
    return bounds
