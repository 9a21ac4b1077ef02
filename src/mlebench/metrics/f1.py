"""F1 scores over classes and over sets of labels, the latter written as texts of labels parted by blanks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.metrics._checks import require_finite, require_same_shape


def macro_f1_score(y_true: np.ndarray, y_pred: np.ndarray, *, truncate: bool = False) -> float:
    """Mean over the classes of 2 TP / (2 TP + FP + FN); 1 is perfect, 0 the worst.

    Both arrays: one class a row, shape (rows,). The mean goes over the classes that occur in either array, so a
    predicted class that is never true adds a zero. With `truncate` the predictions are numbers, cut towards 0
    before they are compared. Raises ValueError if the shapes differ or a number to be cut is not finite.
    Source: scikit-learn's `f1_score(average="macro")`.

    >>> macro_f1_score(np.array([1, 1, 2]), np.array([1, 2, 2]))
    0.6666666666666666
    """
    require_same_shape(y_true, y_pred)
    if truncate and not np.issubdtype(y_pred.dtype, np.integer):
        y_pred = np.trunc(y_pred.astype(np.float64))
        require_finite(y_pred=y_pred)
    classes, codes = np.unique(np.concatenate([y_true, y_pred]), return_inverse=True)
    true, pred = codes.reshape(2, -1)
    hits = np.bincount(true[true == pred], minlength=len(classes))
    return float(np.mean(2 * hits / np.bincount(codes.ravel(), minlength=len(classes))))


def micro_f1_over_labels_score(y_true: np.ndarray, y_pred: np.ndarray, *, true_labels_only: bool = False) -> float:
    """2 TP / (2 TP + FP + FN) with the counts of all rows and labels added up; 1 is perfect, 0 the worst.

    Both arrays: one text a row, shape (rows,), split at any white space into a set of labels; a missing cell
    is the empty set, a number its digits. With `true_labels_only` predicted labels that occur nowhere in
    `y_true` are left out of the count, and so cost nothing. 0 if there is no label at all. Raises ValueError if
    the shapes differ.
    Source: scikit-learn's `f1_score(average="micro")` of indicator matrices, whose columns are all labels or
    those of `y_true`.

    >>> micro_f1_over_labels_score(np.array(["a b", "c"]), np.array(["a x", "c"]))
    0.6666666666666666
    >>> micro_f1_over_labels_score(np.array(["a b", "c"]), np.array(["a x", "c"]), true_labels_only=True)
    0.8
    """
    require_same_shape(y_true, y_pred)
    known = {label for labels in _label_sets(y_true) for label in labels} if true_labels_only else None
    hits = total = 0
    # Row by row: splitting the texts costs as much as all the rest.
    for truth, guess in zip(_label_sets(y_true), _label_sets(y_pred), strict=True):
        hits += len(truth & guess)
        total += len(truth) + len(guess if known is None else guess & known)
    return 2 * hits / total if total else 0.0


def mean_f1_over_labels_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Mean over the rows of 2 |T & P| / (|T| + |P|); 1 is perfect, 0 the worst.

    T and P are the sets of labels of a row, read as by `micro_f1_over_labels_score`; a row without any label in
    either counts 0. Raises ValueError if the shapes differ.
    Source: scikit-learn's `f1_score(average="samples")` of indicator matrices.

    >>> mean_f1_over_labels_score(np.array(["a b", "c"]), np.array(["a", "x"]))
    0.3333333333333333
    """
    require_same_shape(y_true, y_pred)
    rows = zip(_label_sets(y_true), _label_sets(y_pred), strict=True)
    return float(np.mean([2 * len(truth & guess) / max(1, len(truth) + len(guess)) for truth, guess in rows]))


def _label_sets(cells: np.ndarray) -> Iterator[set[str]]:
    """The set of labels in each cell."""
    texts = np.where(pd.isna(cells), "", cells.astype(object))
    return (set(str(text).split()) for text in texts)
