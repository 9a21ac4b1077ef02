"""Metrics of predicted numbers: how far they are from the true ones.

The errors are to be minimised, the likelihood to be maximised. Integers, booleans and numbers held as objects are
taken as floats; NaN and infinite values are refused with a ValueError. What overflows makes the score infinite.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape


def mean_absolute_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, decimals: int | None = None) -> float:
    """Mean of the absolute differences; 0 is perfect.

    Both arrays: finite, the same shape, (rows,) or (rows, columns). Raises ValueError if they are not. The mean is
    rounded to `decimals`, halves to the even digit, if there are any given; NaN then, if it overflows.
    Source: scikit-learn's `mean_absolute_error`.

    >>> mean_absolute_error([1, 2, 3], [1, 2, 6])
    1.0
    >>> mean_absolute_error([1, 2], [1, 3], decimals=0)
    0.0
    """
    truth, predicted = _finite_pair(y_true, y_pred)
    with np.errstate(over="ignore"):
        error = float(np.abs(predicted - truth).mean())
    if decimals is None:
        return error
    return round(error, decimals) if np.isfinite(error) else float("nan")


def mean_log_absolute_error(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, groups: npt.ArrayLike, floor: float = 0.0
) -> float:
    """Mean over the groups of the natural logarithm of the group's mean absolute error.

    `y_true`, `y_pred`: finite, shape (rows,); `groups`: what each row belongs to, shape (rows,). An error below
    `floor` counts as `floor`, so that the best score is ln(floor); without one a group that is met exactly makes
    the score minus infinity (NaN, if another's error overflows). Raises ValueError for other input.
    Source: the metric of Kaggle's champs-scalar-coupling, whose floor is 1e-9.

    >>> round(mean_log_absolute_error([0, 0, 5], [1, 3, 5 + np.e], groups=["a", "a", "b"]), 5)
    0.84657
    """
    truth, predicted = _finite_pair(y_true, y_pred)
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    require_same_shape(truth, group)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        errors = np.bincount(group, np.abs(predicted - truth)) / np.bincount(group)
        return float(np.log(np.maximum(errors, floor)).mean())


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


def laplace_log_likelihood_score(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, least_deviation: float = 70.0, largest_error: float = 1000.0
) -> float:
    """Mean of a Laplace log likelihood of predictions that come with their standard deviation.

    `y_true`: shape (rows,); `y_pred`: shape (rows, 2), prediction and deviation; all finite. With the deviation
    s, at least `least_deviation`, and the absolute error d, at most `largest_error`, a row counts
    -sqrt(2) * d / s - ln(sqrt(2) * s). The best score is -ln(sqrt(2) * least_deviation). Raises ValueError for
    other input. Source: the metric of Kaggle's osic-pulmonary-fibrosis-progression.

    >>> round(laplace_log_likelihood_score([2000, 3000], [[2000, 70], [2900, 200]]), 5)
    -5.47353
    """
    pairs = np.asarray(y_pred, dtype=float)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"y_pred has shape {pairs.shape}, not (rows, 2)")
    truth, predicted = _finite_pair(y_true, pairs[:, 0])
    require_finite(y_pred=pairs)
    deviation = np.maximum(pairs[:, 1], least_deviation)
    with np.errstate(over="ignore"):
        error = np.minimum(np.abs(truth - predicted), largest_error)
        return float((-np.sqrt(2) * error / deviation - np.log(np.sqrt(2) * deviation)).mean())


def _finite_pair(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both as float arrays. Raises ValueError unless their shapes are the same and all values are finite."""
    truth, predicted = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)
    require_same_shape(truth, predicted)
    require_finite(y_true=truth, y_pred=predicted)
    return truth, predicted


def _mean_columnwise_rms(difference: FloatArray) -> float:
    with np.errstate(over="ignore"):
        return float(np.sqrt((difference**2).mean(axis=0)).mean())
