"""Logarithmic losses of probabilities: of one event, of several weighted ones, of a whole distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape

FLOAT64_EPSILON = float(np.finfo(np.float64).eps)


def binary_log_loss(y_true: np.ndarray, y_pred: np.ndarray, *, clip: float = FLOAT64_EPSILON) -> float:
    """Mean over the rows of -(y ln p + (1 - y) ln(1 - p)); 0 is perfect.

    `y_true`: 0 and 1 (or booleans), `y_pred`: probabilities of 1, clipped to [clip, 1 - clip]; both of shape
    (rows,). NaN if `y_true` holds one class only. Raises ValueError if the shapes differ, `y_true` holds
    anything else, or `y_pred` is not finite.
    Source: scikit-learn's `log_loss`, which clips at the epsilon of float64 and refuses a single class.

    >>> round(binary_log_loss(np.array([1, 0]), np.array([0.5, 0.2])), 6)
    0.458145
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 1:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows,)")
    losses = _binary_losses(y_true, y_pred, clip)
    return float(losses.mean()) if 0 < (y_true == 1).sum() < len(y_true) else float("nan")


def weighted_multilabel_log_loss(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    positive_weights: Sequence[float],
    negative_weights: Sequence[float],
    clip: float = 1e-15,
) -> float:
    """Mean over the rows of the weighted mean over the labels of the binary log loss; 0 is perfect.

    `y_true`: 0 and 1, `y_pred`: probabilities of 1, clipped to [clip, 1 - clip]; both of shape (rows, labels).
    A label counts with its positive or its negative weight, as its truth is 1 or 0, and each row is divided by
    its own sum of weights. Raises ValueError if the shapes differ, `y_true` holds anything else, `y_pred` is
    not finite, or the weights are not one for each label.
    Source: the evaluation of RSNA's cervical spine fracture detection, 2022.

    >>> truth, guess = np.array([[1, 0]]), np.array([[0.5, 0.2]])
    >>> round(weighted_multilabel_log_loss(truth, guess, positive_weights=[2, 2], negative_weights=[1, 1]), 6)
    0.536479
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 2 or not len(positive_weights) == len(negative_weights) == y_true.shape[1]:
        raise ValueError(
            f"y_true and y_pred have shape {y_true.shape}, for {len(positive_weights)} positive and "
            f"{len(negative_weights)} negative weights"
        )
    losses = _binary_losses(y_true, y_pred, clip)
    weights = np.where(y_true == 1, positive_weights, negative_weights).astype(np.float64)
    return float(((weights * losses).sum(axis=1) / weights.sum(axis=1)).mean())


def kl_divergence_loss(y_true: np.ndarray, y_pred: np.ndarray, *, clip: float = 1e-15) -> float:
    """Mean over the rows of the Kullback-Leibler divergence, the sum of v ln(v / p) over the classes; 0 is perfect.

    `y_true`: distributions v, `y_pred`: probabilities p, clipped to [clip, 1 - clip]; both of shape (rows,
    classes). Nothing is rescaled: whether a row adds up to 1 is the caller's concern. A class with v = 0 counts
    0. Infinite if `clip` is 0 and a class with v > 0 is given nothing. Raises ValueError if the shapes differ,
    `y_true` is negative, or either array is not finite.
    Source: Kullback and Leibler, On information and sufficiency (1951); with the clipping of Kaggle's metric.

    >>> round(kl_divergence_loss(np.array([[0.5, 0.5, 0.0]]), np.array([[0.25, 0.5, 0.25]])), 6)
    0.346574
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 2:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows, classes)")
    truth, probabilities = y_true.astype(np.float64), y_pred.astype(np.float64)
    require_finite(y_true=truth, y_pred=probabilities)
    if (truth < 0).any():
        raise ValueError("y_true holds negative values")
    possible = truth > 0
    ratios = np.ones_like(truth)
    with np.errstate(divide="ignore"):
        np.divide(truth, np.clip(probabilities, clip, 1 - clip), out=ratios, where=possible)
    return float((truth * np.log(ratios)).sum(axis=1).mean())


def _binary_losses(y_true: np.ndarray, y_pred: np.ndarray, clip: float) -> FloatArray:
    """-(y ln p + (1 - y) ln(1 - p)) of each cell."""
    positive = y_true == 1
    if not (positive | (y_true == 0)).all():
        raise ValueError("y_true holds other values than 0 and 1")
    probabilities = y_pred.astype(np.float64)
    require_finite(y_pred=probabilities)
    probabilities = np.clip(probabilities, clip, 1 - clip)
    return -np.log(np.where(positive, probabilities, 1 - probabilities))
