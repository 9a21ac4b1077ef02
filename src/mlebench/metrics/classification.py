"""Metrics of labels and of class probabilities."""

from __future__ import annotations

import math
from operator import mul

import numpy as np

from mlebench.metrics._checks import FloatArray, require_finite, require_same_shape

FLOAT64_EPSILON = float(np.finfo(np.float64).eps)


def accuracy_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of rows in which both labels are equal; 1 is perfect.

    Both arrays: labels, shape (rows,). True and False equal 1 and 0. Raises ValueError if the shapes differ.
    Source: scikit-learn's `accuracy_score`.

    >>> accuracy_score(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 0]))
    0.75
    """
    require_same_shape(y_true, y_pred)
    return float(np.mean(y_true == y_pred))


def top_1_error(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of rows whose label is wrong, 1 - accuracy; 0 is perfect.

    Both arrays: labels, shape (rows,). Raises ValueError if the shapes differ. Source: Russakovsky et al. 2015,
    "ImageNet Large Scale Visual Recognition Challenge", with one guess a row.

    >>> top_1_error(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 0]))
    0.25
    """
    return 1 - accuracy_score(y_true, y_pred)


def micro_f1_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """F1 of all classes counted together, one label a row; 1 is perfect.

    A wrong label is a false positive of one class and a false negative of another, so that precision, recall and
    F1 all equal the accuracy. Both arrays: labels, shape (rows,). Raises ValueError if the shapes differ.
    Source: scikit-learn's `f1_score(average="micro")`.

    >>> micro_f1_score(np.array(["a", "b", "c", "c"]), np.array(["a", "b", "c", "d"]))
    0.75
    """
    return accuracy_score(y_true, y_pred)


def matthews_correlation_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Correlation of true and predicted classes: 1 is perfect, 0 what chance gives, -1 (of two classes) all wrong.

    Both arrays: labels, shape (rows,), of two classes or more. 0 if either array holds one class only.
    Raises ValueError if the shapes differ. Source: Gorodkin 2004, "Comparing two K-category assignments by a
    K-category correlation coefficient"; scikit-learn's `matthews_corrcoef`.

    >>> matthews_correlation_score(np.array([1, 1, 0, 0]), np.array([1, 1, 1, 0]))
    0.5773502691896258
    """
    require_same_shape(y_true, y_pred)
    classes, places = np.unique(np.concatenate([y_true, y_pred]), return_inverse=True)
    true, pred = (np.bincount(each, minlength=len(classes)) for each in places.reshape(2, -1))
    rows, right = len(y_true), int((y_true == y_pred).sum())
    # The counts are squared as Python's integers, which don't overflow.
    joint = right * rows - sum(map(mul, true.tolist(), pred.tolist()))
    spreads = [rows**2 - sum(count**2 for count in counts.tolist()) for counts in (true, pred)]
    return joint / math.sqrt(spreads[0] * spreads[1]) if all(spreads) else 0.0


def multiclass_log_loss(y_true: np.ndarray, y_pred: np.ndarray, *, clip: float = FLOAT64_EPSILON) -> float:
    """Mean over the rows of -ln(probability given to the true class); 0 is perfect.

    `y_true`: one-hot, `y_pred`: probabilities, both of shape (rows, classes); a class may lack rows.
    Probabilities are clipped to [clip, 1 - clip] and not rescaled: whether a row adds up to 1 is the caller's
    concern. Raises ValueError if the shapes differ, a row of `y_true` is not one-hot, or `y_pred` is not finite.
    Source: scikit-learn's `log_loss` of an indicator matrix, which clips at the epsilon of float64.

    >>> round(multiclass_log_loss(np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.5], [0.2, 0.8]])), 6)
    0.458145
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 2:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows, classes)")
    is_class = y_true == 1
    if not (is_class.sum(axis=1) == 1).all() or not (is_class | (y_true == 0)).all():
        raise ValueError("a row of y_true is not one-hot")
    probabilities = y_pred.astype(np.float64)
    require_finite(y_pred=probabilities)
    return float(-np.log(np.clip(probabilities[is_class], clip, 1 - clip)).mean())


def quadratic_weighted_kappa_score(y_true: np.ndarray, y_pred: np.ndarray, *, fixed_scale: bool = False) -> float:
    """Cohen's kappa with quadratic weights: 1 is perfect, 0 what chance gives, below 0 worse than chance.

    Both arrays: numeric ratings, shape (rows,). As ranks count the positions among the ratings that occur in
    either array, so a rating that occurs in neither leaves no gap; with `fixed_scale` the ratings themselves,
    whole numbers from -1000 to 1000. NaN if both arrays hold one and the same rating throughout. Raises
    ValueError if the shapes differ or a rating is not finite, or none of the scale's.
    Source: scikit-learn's `cohen_kappa_score(weights="quadratic")` without a list of labels, or with one.

    >>> quadratic_weighted_kappa_score(np.array([0, 1, 2, 4]), np.array([0, 1, 4, 2]))
    0.8
    >>> round(quadratic_weighted_kappa_score(np.array([0, 1, 2, 4]), np.array([0, 1, 4, 2]), fixed_scale=True), 6)
    0.542857
    """
    require_same_shape(y_true, y_pred)
    ratings = np.concatenate([y_true, y_pred]).astype(np.float64)
    require_finite(ratings=ratings)
    if fixed_scale:
        if ((ratings != np.floor(ratings)) | (np.abs(ratings) > 1000)).any():
            raise ValueError("a rating is no whole number from -1000 to 1000")
        ranks = ratings.astype(np.int64).reshape(2, -1)
    else:
        ranks = np.unique(ratings, return_inverse=True)[1].reshape(2, -1)
    true, pred = ranks
    # Sums in Python's integers are exact. The disagreement by chance is that of all pairs of a true and a
    # predicted rank, whose sum of squares needs only the moments.
    observed = len(true) * int(((true - pred) ** 2).sum())
    by_chance = len(true) * int((ranks**2).sum()) - 2 * int(true.sum()) * int(pred.sum())
    return 1 - observed / by_chance if by_chance else float("nan")


def probabilistic_f1_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Harmonic mean of precision and recall, which count probabilities, not decisions; 1 is perfect, 0 the worst.

    `y_true`: 0 and 1 (or booleans), `y_pred`: probabilities of 1, clipped to [0, 1]; both of shape (rows,). With
    t the sum of the predictions where the truth is 1 and f that where it is 0, precision is t / (t + f) and
    recall t / (rows of truth 1); 0 if t is 0. NaN if no truth is 1. Raises ValueError if the shapes differ,
    `y_true` holds anything else, or `y_pred` is not finite.
    Source: Yacouby and Axman, Probabilistic extension of precision, recall, and F1 score (2020), as on Kaggle.

    >>> probabilistic_f1_score(np.array([1, 1, 0, 0]), np.array([1.0, 0.5, 0.5, 0.0]))
    0.75
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 1:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows,)")
    positive = y_true == 1
    if not (positive | (y_true == 0)).all():
        raise ValueError("y_true holds other values than 0 and 1")
    predictions = y_pred.astype(np.float64)
    require_finite(y_pred=predictions)
    predictions = np.clip(predictions, 0, 1)
    found, positives = float(predictions[positive].sum()), int(positive.sum())
    if positives == 0:
        return float("nan")
    # 2 precision recall / (precision + recall), with the common factor t taken out
    return 2 * found / (float(predictions.sum()) + positives)


def roc_auc_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Area under the receiver operating characteristic: the chance that a positive row outranks a negative one.

    1 is perfect, 0.5 what chance gives; ties count half. `y_true`: 0 and 1 (or booleans), `y_pred`: finite
    numbers, both of shape (rows,). NaN if `y_true` holds one class only, as no pair can be compared.
    Raises ValueError if the shapes differ, `y_true` holds anything else, or `y_pred` is not finite.
    Source: scikit-learn's `roc_auc_score`, to the last bit: an area may lie on the border between two rounded ones.

    >>> roc_auc_score(np.array([0, 1, 0, 1]), np.array([0.1, 0.9, 0.4, 0.4]))
    0.875
    """
    false_rate, true_rate = roc_curve(y_true, y_pred)
    return float((np.diff(false_rate) * (true_rate[1:] + true_rate[:-1]) / 2).sum())


def roc_curve(y_true: np.ndarray, y_pred: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """False and true positive rates from (0, 0) to (1, 1), both of shape (points,); NaN where a class is lacking.

    Arguments as of `roc_auc_score`. There is a point for each threshold, from the highest score down, unless it lies
    on a straight line between its neighbours. Source: scikit-learn's `roc_curve`.

    >>> [rates.tolist() for rates in roc_curve(np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]))]
    [[0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 1.0, 1.0]]
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 1:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows,)")
    positive = y_true == 1
    if not (positive | (y_true == 0)).all():
        raise ValueError("y_true holds other values than 0 and 1")
    scores = y_pred.astype(np.float64)
    require_finite(y_pred=scores)
    falling = np.argsort(-scores, kind="stable")
    ordered = scores[falling]
    last_of_its_score = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(scores) - 1)
    positives = np.cumsum(positive[falling])[last_of_its_score]
    negatives = last_of_its_score + 1 - positives
    bends = np.ones(len(positives), dtype=bool)
    bends[1:-1] = (np.diff(positives, 2) != 0) | (np.diff(negatives, 2) != 0)
    with np.errstate(invalid="ignore"):
        return tuple(np.append(0, counts[bends]) / counts[-1] for counts in (negatives, positives))


def mean_columnwise_roc_auc_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Mean over the columns of the area under the ROC curve (see `roc_auc_score`); 1 is perfect, 0.5 chance.

    `y_true`: 0 and 1 (or booleans), `y_pred`: finite numbers, both of shape (rows, columns). Rows need not add
    up to 1. NaN if a column of `y_true` holds one class only. Raises ValueError as `roc_auc_score` does.
    Source: Kaggle's mean column-wise ROC AUC; scikit-learn's `roc_auc_score(average="macro")` of several labels.

    >>> mean_columnwise_roc_auc_score(np.array([[0, 1], [1, 0]]), np.array([[0.1, 0.5], [0.9, 0.5]]))
    0.75
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 2 or y_true.shape[1] == 0:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows, columns)")
    return float(np.mean([roc_auc_score(true, pred) for true, pred in zip(y_true.T, y_pred.T, strict=True)]))


def mean_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, ascending; equal values share the mean of their ranks. Shape (rows,).

    >>> mean_ranks(np.array([30.0, 10.0, 20.0, 10.0])).tolist()
    [4.0, 1.5, 3.0, 1.5]
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[group]
