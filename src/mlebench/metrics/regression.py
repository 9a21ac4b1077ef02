"""Metrics of predicted numbers: how far they are from the true ones.

All are errors: 0 is perfect, lower is better. Integers, booleans and numbers held as objects are taken as
floats; NaN and infinite values are refused with a ValueError. A square that overflows makes the error infinite.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape


def mean_absolute_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mean of the absolute differences; 0 is perfect.

    Both arrays: finite, the same shape, (rows,) or (rows, columns). Raises ValueError if they are not.
    Source: scikit-learn's `mean_absolute_error`.

    >>> mean_absolute_error([1, 2, 3], [1, 2, 6])
    1.0
    """
    truth, predicted = _finite_pair(y_true, y_pred)
    return float(np.abs(predicted - truth).mean())


def root_mean_squared_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Square root of the mean squared difference; 0 is perfect.

    Both arrays: finite, shape (rows,). Raises ValueError if they are not.
    Source: scikit-learn's `root_mean_squared_error`.

    >>> root_mean_squared_error([0, 3], [0, 7])
    2.8284271247461903
    """
    return mean_columnwise_rms_error(y_true, y_pred)


def mean_columnwise_rms_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mean over the columns of the root mean squared error; 0 is perfect.

    Both arrays: finite, shape (rows, columns), or (rows,) for one column. Raises ValueError if they are not.
    Source: Kaggle's MCRMSE; scikit-learn's `root_mean_squared_error` of several outputs.

    >>> mean_columnwise_rms_error([[0, 1], [0, 3]], [[1, 1], [1, 1]])
    1.2071067811865475
    """
    truth, predicted = _finite_pair(y_true, y_pred)
    return _mean_columnwise_rms(predicted - truth)


def mean_columnwise_rms_log_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mean over the columns of the root mean squared difference of ln(1 + value); 0 is perfect.

    Both arrays: finite and above -1, shape (rows, columns), or (rows,) for one column. Raises ValueError if
    they are not. Source: Kaggle's mean columnwise RMSLE; scikit-learn's `root_mean_squared_log_error`.

    >>> round(mean_columnwise_rms_log_error([[0, 1], [0, 1]], [[0, 3], [0, 3]]), 5)
    0.34657
    """
    truth, predicted = _finite_pair(y_true, y_pred)
    for name, values in (("y_true", truth), ("y_pred", predicted)):
        if (values <= -1).any():
            raise ValueError(f"{name} holds values of -1 or less, whose logarithm is undefined")
    return _mean_columnwise_rms(np.log1p(predicted) - np.log1p(truth))


def _finite_pair(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both as float arrays. Raises ValueError unless their shapes are the same and all values are finite."""
    truth, predicted = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)
    require_same_shape(truth, predicted)
    require_finite(y_true=truth, y_pred=predicted)
    return truth, predicted


def _mean_columnwise_rms(difference: FloatArray) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt((difference**2).mean(axis=0)).mean())
