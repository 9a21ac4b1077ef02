"""The metrics that graders written for v1 import."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np


def average_precision_at_k(actual: Collection[Hashable], predicted: Sequence[Hashable], k: int = 10) -> float:
    """Average precision of the first `k` predictions; 1 is perfect, 0 if there is nothing to be found.

    At each rank at which a label of `actual` stands for the first time: labels found so far / rank. Their sum is
    divided by min(number of labels, k). A repeated prediction takes up its rank and counts nothing.
    Source: Kaggle's MAP@k.

    >>> average_precision_at_k(["a", "b"], ["a", "x", "b"], k=3)
    0.8333333333333333
    """
    wanted = set(actual)
    if not wanted:
        return 0.0
    seen: set[Hashable] = set()
    total = 0.0
    for rank, label in enumerate(predicted[:k], 1):
        if label in wanted and label not in seen:
            seen.add(label)
            total += len(seen) / rank
    return total / min(len(wanted), k)


def mean_average_precision_at_k(
    actual: Sequence[Collection[Hashable]], predicted: Sequence[Sequence[Hashable]], k: int = 10
) -> float:
    """Mean of `average_precision_at_k` over the rows; 1 is perfect.

    Raises ValueError if the two differ in length or are empty.

    >>> mean_average_precision_at_k([["a"], ["b"]], [["a"], ["x", "b"]], k=5)
    0.75
    """
    if len(actual) != len(predicted):
        raise ValueError(f"actual has {len(actual)} rows, predicted {len(predicted)}")
    if len(actual) == 0:
        raise ValueError("there are no rows to score")
    return float(np.mean([average_precision_at_k(*row, k) for row in zip(actual, predicted, strict=True)]))


def dice_coefficient(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """2·|X ∩ Y| / (|X| + |Y|) of two masks; 1 is perfect, also if both are empty.

    Both arrays: of one shape; what is not 0 belongs to the mask. Raises ValueError if the shapes differ.

    >>> dice_coefficient(np.array([1, 1, 0]), np.array([1, 0, 0]))
    0.6666666666666666
    """
    true, predicted = np.asarray(y_true) != 0, np.asarray(y_pred) != 0
    if true.shape != predicted.shape:
        raise ValueError(f"y_true has shape {true.shape}, y_pred {predicted.shape}")
    size = int(true.sum()) + int(predicted.sum())
    return 2 * int((true & predicted).sum()) / size if size else 1.0
