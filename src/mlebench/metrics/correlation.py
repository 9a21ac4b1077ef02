"""Correlations of predicted with true numbers: 1 is perfect, 0 what chance gives, -1 the reverse of the truth.

A constant column has no correlation: the result is NaN then.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape
from mlebench.metrics.classification import mean_ranks


def pearson_correlation_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Pearson's product-moment correlation; 1 is perfect.

    Both arrays: finite numbers, shape (rows,). NaN if one of them is constant. Raises ValueError if the shapes
    differ or a value is not finite. Source: SciPy's `pearsonr`.

    >>> round(pearson_correlation_score([0, 0.5, 1], [2, 2, 5]), 6)
    0.866025
    """
    truth, predicted = _columns(y_true, y_pred)
    if truth.shape[1] != 1:
        raise ValueError(f"y_true and y_pred have {truth.shape[1]} columns, not one")
    return float(_columnwise_correlation(truth, predicted)[0])


def mean_columnwise_spearman_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Mean over the columns of Spearman's rank correlation; 1 is perfect.

    Both arrays: finite numbers, shape (rows, columns), or (rows,) for one column. Equal values share the mean of
    their ranks. NaN if a column of either array is constant. Raises ValueError if the shapes differ or a value is
    not finite. Source: SciPy's `spearmanr`; Spearman, The proof and measurement of association between two
    things (1904).

    >>> mean_columnwise_spearman_score([[0, 1], [1, 2], [2, 3]], [[5, 3], [6, 2], [9, 1]])
    0.0
    """
    truth, predicted = _columns(y_true, y_pred)
    return float(_columnwise_correlation(_columnwise_ranks(truth), _columnwise_ranks(predicted)).mean())


def _columns(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both as finite floats of shape (rows, columns)."""
    truth, predicted = np.asarray(y_true, dtype=np.float64), np.asarray(y_pred, dtype=np.float64)
    require_same_shape(truth, predicted)
    require_finite(y_true=truth, y_pred=predicted)
    if truth.ndim not in (1, 2):
        raise ValueError(f"y_true and y_pred have shape {truth.shape}, not (rows,) or (rows, columns)")
    return truth.reshape(len(truth), -1), predicted.reshape(len(truth), -1)


def _columnwise_ranks(values: FloatArray) -> FloatArray:
    return np.column_stack([mean_ranks(column) for column in values.T])


def _columnwise_correlation(first: FloatArray, second: FloatArray) -> FloatArray:
    """Pearson's correlation of each column of `first` with that of `second`; shape (columns,), NaN for a constant."""
    with np.errstate(invalid="ignore"):
        correlation = (_standardised(first) * _standardised(second)).sum(axis=0)
    return np.clip(correlation, -1, 1)


def _standardised(values: FloatArray) -> FloatArray:
    """Columns of mean 0 and length 1; NaN throughout a constant one."""
    # Scaled before and after centring, so that squares of the largest and the smallest floats don't get lost.
    scaled = _scaled(values)
    centred = _scaled(scaled - scaled.mean(axis=0))
    constant = (values == values[0]).all(axis=0)
    length = np.where(constant, np.nan, np.sqrt((centred**2).sum(axis=0)))
    return centred / np.where(length == 0, np.nan, length)


def _scaled(values: FloatArray) -> FloatArray:
    """Each column divided by its largest absolute value, unless that is 0."""
    largest = np.abs(values).max(axis=0)
    return values / np.where(largest == 0, 1, largest)
