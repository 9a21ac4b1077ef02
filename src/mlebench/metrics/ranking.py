"""Metrics of ranked lists and of orders, both written as texts of entries parted by blanks, and of ranked labels."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, cell_texts, require_finite, require_same_shape

IntArray = npt.NDArray[np.int64]


def mean_average_precision_at_k_score(y_true: np.ndarray, y_pred: np.ndarray, *, k: int) -> float:
    """Mean over the rows of the average precision of the first `k` entries; 1 is perfect, 0 the worst.

    Both arrays: one text a row, shape (rows,), split at every single blank; a missing cell is the word "nan",
    a number its digits. Truths are sets. An entry that repeats an earlier one uses up its rank and is no hit;
    two blanks in a row have an empty entry between them. A row's sum of (hits so far / rank) over its hits is
    divided by the size of the truth or `k`, whichever is less. Raises ValueError if the shapes differ or `k` is
    below 1.
    Source: Kaggle's MAP@K; Manning et al., Introduction to Information Retrieval (2008), section 8.4.

    >>> mean_average_precision_at_k_score(np.array(["a b", "c"]), np.array(["b x a", "x c"]), k=2)
    0.5
    """
    require_same_shape(y_true, y_pred)
    if k < 1:
        raise ValueError(f"k is {k}, it is at least 1")
    rows = zip(cell_texts(y_true), cell_texts(y_pred), strict=True)
    return math.fsum(_average_precision(truth, guess, k) for truth, guess in rows) / len(y_true)


def _average_precision(truth: str, guess: str, k: int) -> float:
    # Row by row: splitting the texts costs as much as all the rest; arrays of codes took five times as long.
    relevant = set(truth.split(" "))
    most = min(len(relevant), k)
    entries = guess.split(" ", k)[:k]
    if relevant.isdisjoint(entries):
        return 0.0
    hits, total = 0, 0.0
    for rank, entry in enumerate(entries, 1):
        if entry in relevant:
            relevant.discard(entry)
            hits += 1
            total += hits / rank
    return total / most


def kendall_tau_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Kendall's tau of many orders together: 1 - 4 S / sum of n (n - 1); 1 is perfect, -1 all reversed.

    Both arrays: one order a row, shape (rows,), entries parted by any amount of blanks. S is the number of
    pairs of entries that stand the other way round than in the truth, n a row's number of entries; both sums
    go over all rows. Raises ValueError if the shapes differ, if a row does not hold each entry of its truth
    exactly once, or if no row has two entries.
    Source: Kendall, A new measure of rank correlation (1938).

    >>> kendall_tau_score(np.array(["a b c", "d e"]), np.array(["a c b", "d e"]))
    0.5
    """
    require_same_shape(y_true, y_pred)
    places: list[int] = []  # of each guessed entry among the entries of all truths
    pairs = 0
    for truth, guess in zip(cell_texts(y_true), cell_texts(y_pred), strict=True):
        entries = truth.split()
        pairs += len(entries) * (len(entries) - 1)
        places += _places(entries, guess.split(), first=len(places))
    if pairs == 0:
        raise ValueError("no row has two entries, so there is no order")
    return 1 - 4 * count_inversions(np.array(places)) / pairs


def _places(truth: list[str], guess: list[str], first: int) -> list[int]:
    """Where each entry of `guess` stands in `truth`, counted from `first`."""
    place = {entry: index for index, entry in enumerate(truth, first)}
    if not len(place) == len(truth) == len(guess) or place.keys() != set(guess):
        raise ValueError("a row does not hold each entry of its truth exactly once")
    return [place[entry] for entry in guess]


def label_ranking_average_precision_score(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """Mean precision at the rank of each true label, all (row, true label) pairs alike; 1 is perfect, 0 the worst.

    Both arrays: shape (rows, labels); `y_true` is 1 where a label is true and 0 elsewhere, `y_pred` any scores,
    of which only the order within a row counts. The precision of a true label is the share of true ones among
    the labels whose score is at least its own. Rows without a true label are left out; NaN if no row has one.
    Raises ValueError if the shapes differ or are others, if `y_true` holds something else, or `y_pred` is not
    finite.
    Source: lwlrap of DCASE 2019, task 2: scikit-learn's `label_ranking_average_precision_score`, each row
    weighted by its number of true labels.

    >>> label_ranking_average_precision_score(np.array([[1, 0, 1], [0, 1, 0]]), np.array([[9, 2, 1], [5, 5, 0]]))
    0.7222222222222222
    """
    require_same_shape(y_true, y_pred)
    if y_true.ndim != 2:
        raise ValueError(f"y_true and y_pred have shape {y_true.shape}, not (rows, labels)")
    is_true = y_true == 1
    if not (is_true | (y_true == 0)).all():
        raise ValueError("y_true holds something else than 0 and 1")
    scores = y_pred.astype(np.float64)
    require_finite(y_pred=scores)
    if not is_true.any():
        return float("nan")
    return float(_precision_at_ranks(is_true, scores)[is_true].mean())


def _precision_at_ranks(is_true: np.ndarray, scores: FloatArray) -> FloatArray:
    """Share of true labels among those with at least the score of each label; shape (rows, labels)."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    hits = np.cumsum(np.take_along_axis(is_true, order, axis=1), axis=1)
    # Of equal scores all count for each: what stands at the last of them goes for all.
    places = np.arange(scores.shape[1])
    is_last = np.append(ordered[:, 1:] != ordered[:, :-1], np.ones((len(scores), 1), dtype=bool), axis=1)
    last = np.minimum.accumulate(np.where(is_last, places, len(places))[:, ::-1], axis=1)[:, ::-1]
    precision = np.take_along_axis(hits, last, axis=1) / (last + 1)
    unordered = np.empty_like(precision)
    np.put_along_axis(unordered, order, precision, axis=1)
    return unordered


def count_inversions(permutation: IntArray) -> int:
    """Number of pairs that stand in falling order; shape (n,), each of 0 … n - 1 once; O(n log n).

    Bit by bit from the highest, entries that agree in all higher bits form a group; every 1 that stands
    before a 0 of its group is an inversion. Then each group is parted into its zeros and its ones.

    >>> count_inversions(np.array([2, 0, 1]))
    2
    """
    values = np.asarray(permutation, dtype=np.int64)
    inversions = 0
    for bit in reversed(range(max(len(values) - 1, 0).bit_length())):
        group_start = values >> (bit + 1) << (bit + 1)  # smaller values stand in earlier groups
        one = (values >> bit & 1).astype(bool)
        ones = np.cumsum(one) - one
        ones_before = ones - ones[group_start]
        inversions += int(ones_before[~one].sum())
        place = np.where(one, group_start + (1 << bit) + ones_before, np.arange(len(values)) - ones_before)
        parted = np.empty_like(values)
        parted[place] = values
        values = parted
    return inversions
