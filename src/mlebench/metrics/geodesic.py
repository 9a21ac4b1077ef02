"""Distances between places on the earth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape

EARTH_RADIUS = 6_371_000.0  # metres


def haversine_distance(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, radius: float = EARTH_RADIUS) -> FloatArray:
    """Great-circle distance of each pair of places on a sphere, in the unit of `radius`; shape (rows,).

    Both arrays: finite, shape (rows, 2), latitude and longitude in degrees; a latitude beyond the pole goes on
    along the meridian behind it. Raises ValueError for other input.

    >>> haversine_distance([[0, 0], [90, 0]], [[0, 90], [90, 45]]).round(1)
    array([10007543.4,        0. ])
    """
    truth, predicted = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)
    require_same_shape(truth, predicted)
    require_finite(y_true=truth, y_pred=predicted)
    if truth.ndim != 2 or truth.shape[1] != 2:
        raise ValueError(f"y_true has shape {truth.shape}, not (rows, 2)")
    (latitude, longitude), (latitude_found, longitude_found) = np.radians(truth).T, np.radians(predicted).T
    half = (
        np.sin((latitude_found - latitude) / 2) ** 2
        + np.cos(latitude) * np.cos(latitude_found) * np.sin((longitude_found - longitude) / 2) ** 2
    )
    return 2 * radius * np.arcsin(np.sqrt(np.clip(half, 0, 1)))  # rounding may leave 0 to 1
