"""Metrics of labels and of class probabilities."""

from __future__ import annotations

import numpy as np

from mlebench.metrics._checks import require_same_shape


def accuracy_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of rows in which both labels are equal; 1 is perfect.

    Both arrays: labels, shape (rows,). True and False equal 1 and 0. Raises ValueError if the shapes differ.
    Source: scikit-learn's `accuracy_score`.

    >>> accuracy_score(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 0]))
    0.75
    """
    require_same_shape(y_true, y_pred)
    return float(np.mean(y_true == y_pred))
