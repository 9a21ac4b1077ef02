"""Metrics of predicted texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlebench.metrics._checks import FloatArray


def mean_word_jaccard_score(y_true: Sequence[str], y_pred: Sequence[str]) -> float:
    """Mean over the rows of the share of words that both texts have among those that either has; 1 is perfect.

    Both: texts, (rows,). Words are what stands between white space, in lower case; a repeated word counts
    once, order is immaterial. NaN if in some row neither text has a word. Raises ValueError if the lengths
    differ or there are no rows. Source: Kaggle's word-level Jaccard score.

    >>> mean_word_jaccard_score(["So happy!!", "hate this, really"], ["happy!! so", "hate this"])
    0.625
    """
    return float(np.mean(word_jaccard(y_true, y_pred)))


def word_jaccard(y_true: Sequence[str], y_pred: Sequence[str]) -> FloatArray:
    """What each row adds to `mean_word_jaccard_score`: float64 (rows,); NaN where neither text has a word.

    Raises ValueError as that does.

    >>> word_jaccard(["a b", "a", "", ""], ["B b", "", "a", " "])
    array([0.5, 0. , 0. , nan])
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} texts, y_pred {len(y_pred)}")
    if len(y_true) == 0:
        raise ValueError("there are no rows to score")
    pairs = zip(map(_words, y_true), map(_words, y_pred), strict=True)
    return np.array([len(a & b) / len(union) if (union := a | b) else np.nan for a, b in pairs])


def _words(text: str) -> set[str]:
    return set(text.lower().split())
