"""Metrics made of areas under receiver operating characteristics: parts of one, and many that are averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_same_shape
from mlebench.metrics.classification import roc_auc_score, roc_curve

BoolArray = npt.NDArray[np.bool_]


def weighted_roc_auc_score(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    edges: Sequence[float] = (0.0, 0.4, 1.0),
    weights: Sequence[float] = (2.0, 1.0),
) -> float:
    """Area under the ROC curve in which bands of the true positive rate have weights; 1 is perfect, 0 the worst.

    `y_true`: 0 and 1 (or booleans), `y_pred`: finite numbers, both of shape (rows,). `edges` rise from 0 to 1 and
    bound the bands, `weights` has one for each. The area within each band is weighted, and the sum divided by that
    of a perfect curve. Points between thresholds lie on straight lines. NaN if `y_true` holds one class only.
    Raises ValueError if the shapes differ, `y_true` holds anything else, or `y_pred` is not finite.
    Source: the metric of Kaggle's competition ALASKA2.

    >>> round(weighted_roc_auc_score(np.array([0, 1]), np.array([0.5, 0.5])), 5)
    0.58571
    """
    false_rate, true_rate = roc_curve(y_true, y_pred)
    if not np.isfinite(false_rate[-1] + true_rate[-1]):
        return float("nan")
    inner = np.asarray(edges[1:-1], dtype=np.float64)
    # With the points at which the curve crosses an edge, it is straight within each band.
    false_rate = np.sort(np.concatenate([false_rate, np.interp(inner, true_rate, false_rate)]))
    true_rate = np.sort(np.concatenate([true_rate, inner]))
    steps = np.diff(false_rate)
    total = perfect = 0.0
    for low, high, weight in zip(edges[:-1], edges[1:], weights, strict=True):
        height = np.clip(true_rate, low, high) - low
        total += weight * float((steps * (height[1:] + height[:-1]) / 2).sum())
        perfect += weight * (high - low)
    return total / perfect


def bias_roc_auc_score(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    groups: BoolArray,
    power: float = -5.0,
    overall_weight: float = 0.25,
) -> float:
    """Area under the ROC curve, averaged with power means over groups of rows of three areas that show a bias.

    1 is perfect. `y_true`: 0 and 1, `y_pred`: finite numbers, both of shape (rows,); `groups`: shape
    (rows, groups), which rows belong to which group. The overall area has the weight `overall_weight`, each of
    the three columns of `bias_roc_aucs`, averaged with `power_mean`, a third of the rest. NaN if a subset holds one
    class only. Raises ValueError if the shapes don't fit or `y_pred` is not finite.
    Source: Borkan et al., Nuanced metrics for measuring unintended bias (2019); Kaggle's Jigsaw competition.

    >>> truth, scores = np.array([0, 1, 0, 1]), np.array([0.2, 0.6, 0.4, 0.9])
    >>> bias_roc_auc_score(truth, scores, groups=np.array([[False], [False], [True], [True]]))
    1.0
    """
    overall = roc_auc_score(y_true, y_pred)
    means = power_mean(bias_roc_aucs(y_true, y_pred, groups), power)
    return overall_weight * overall + (1 - overall_weight) * float(means.mean())


def bias_roc_aucs(y_true: np.ndarray, y_pred: np.ndarray, groups: BoolArray) -> FloatArray:
    """Three areas under ROC curves for each group; shape (groups, 3).

    Of the group's rows; of the background's positive and the group's negative rows; of the background's negative
    and the group's positive rows. NaN where one class is lacking.
    """
    require_same_shape(y_true, y_pred)
    if groups.ndim != 2 or len(groups) != len(y_true):
        raise ValueError(f"groups has shape {groups.shape}, not ({len(y_true)}, groups)")
    positive = y_true == 1

    def area(rows: BoolArray) -> float:
        return roc_auc_score(y_true[rows], y_pred[rows]) if rows.any() else float("nan")

    return np.array([[area(group), area(positive != group), area(positive == group)] for group in groups.T])


def power_mean(values: FloatArray, power: float) -> FloatArray:
    """(mean of values ** power) ** (1 / power) down each column; `values`: at least 0, shape (rows, columns).

    With a negative power, which is for values whose least ones shall count most, a value of 0 makes a mean of 0.

    >>> power_mean(np.array([[0.5, 0.0], [1.0, 1.0]]), -1.0).round(4).tolist()
    [0.6667, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.mean(values**power, axis=0) ** (1 / power)
