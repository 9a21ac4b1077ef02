"""Metrics of predicted directions in space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import require_finite, require_same_shape


def mean_angular_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mean angle between true and predicted directions, in radians, from 0 to pi; 0 is perfect.

    Both arrays: finite, shape (rows, 2), azimuth and zenith in radians. Angles outside of a circle wrap round.
    Raises ValueError if they are not. An arc cosine is taken, so equal directions may be 1e-8 apart.
    Source: the metric of Kaggle's icecube-neutrinos-in-deep-ice.

    >>> round(mean_angular_error([[0, 0], [1, np.pi / 2]], [[2, np.pi / 2], [1, np.pi / 2]]), 5)
    0.7854
    """
    truth, predicted = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)
    require_same_shape(truth, predicted)
    require_finite(y_true=truth, y_pred=predicted)
    if truth.ndim != 2 or truth.shape[1] != 2:
        raise ValueError(f"y_true has shape {truth.shape}, not (rows, 2)")
    (azimuth, zenith), (azimuth_found, zenith_found) = truth.T, predicted.T
    flat = np.cos(azimuth) * np.cos(azimuth_found) + np.sin(azimuth) * np.sin(azimuth_found)
    cosine = np.sin(zenith) * np.sin(zenith_found) * flat + np.cos(zenith) * np.cos(zenith_found)
    return float(np.arccos(np.clip(cosine, -1, 1)).mean())
