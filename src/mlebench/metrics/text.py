"""Metrics of predicted texts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from mlebench.metrics._checks import FloatArray, cell_texts, require_same_shape

IntArray = npt.NDArray[np.int64]


def exact_match_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Share of rows in which both texts are equal, blanks and case included; 1 is perfect.

    Both arrays: cells, shape (rows,). A number is compared by its digits, and a missing cell is the word "nan":
    missing cells equal each other. Raises ValueError if the shapes differ or there are no rows.

    >>> exact_match_score(np.array(["two", "2", np.nan, "Two"], dtype=object), np.array(["two", 2, None, "two"]))
    0.75
    """
    require_same_shape(y_true, y_pred)
    pairs = zip(cell_texts(y_true), cell_texts(y_pred), strict=True)
    return sum(truth == guess for truth, guess in pairs) / len(y_true)


def mean_levenshtein_distance(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Mean over the rows of the Levenshtein distance of two texts; 0 is perfect, there is no upper bound.

    The distance is the least number of characters (Unicode code points) to insert, delete or replace that make
    one text the other. Both arrays: cells, shape (rows,); a number is the text of its digits, a missing cell the
    word "nan". Raises ValueError if the shapes differ or there are no rows.
    Source: Levenshtein, Binary codes capable of correcting deletions, insertions and reversals (1966).

    >>> mean_levenshtein_distance(np.array(["kitten", "same"]), np.array(["sitting", "same"]))
    1.5
    """
    require_same_shape(y_true, y_pred)
    return float(levenshtein_distances(cell_texts(y_true), cell_texts(y_pred)).mean())


def relative_sequence_distance(y_true: Sequence[Sequence[Hashable]], y_pred: Sequence[Sequence[Hashable]]) -> float:
    """Sum over the rows of the Levenshtein distance of two sequences / sum of the lengths of the true ones.

    0 is perfect; it may exceed 1. Entries are compared as wholes. Both: sequences, (rows,). NaN if all the true
    ones are empty. Raises ValueError if the numbers of rows differ or there are none.
    Source: the word error rate of speech recognition.

    >>> relative_sequence_distance([[1, 2, 3], [20]], [[1, 3], [2, 0]])
    0.75
    """
    total = sum(map(len, y_true))
    codes: dict[Hashable, int] = {entry: code for code, entry in enumerate(dict.fromkeys(e for s in y_true for e in s))}
    unknown = len(codes)  # what no truth holds equals nothing, whatever it is
    truth, guess = ([[codes.get(entry, unknown) for entry in row] for row in rows] for rows in (y_true, y_pred))
    distance = levenshtein_distances(truth, guess).sum()
    return float(distance / total) if total else float("nan")


def levenshtein_distances(y_true: Sequence[Sequence[Hashable]], y_pred: Sequence[Sequence[Hashable]]) -> IntArray:
    """The Levenshtein distance of each row: int64, (rows,).

    Both: texts, or sequences of whole numbers from 0 on. Raises ValueError if the numbers of rows differ or there
    are none.

    >>> levenshtein_distances(["kitten", ""], ["sitting", "a"])
    array([3, 1])
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} rows, y_pred {len(y_pred)}")
    if len(y_true) == 0:
        raise ValueError("there are no rows to score")
    return np.fromiter(map(Levenshtein.distance, y_true, y_pred), dtype=np.int64, count=len(y_true))


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
