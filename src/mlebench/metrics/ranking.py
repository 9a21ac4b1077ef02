"""Metrics of ranked lists and of orders, both written as texts of entries parted by blanks."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd

from mlebench.metrics._checks import require_same_shape

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
    rows = zip(_texts(y_true), _texts(y_pred), strict=True)
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
    for truth, guess in zip(_texts(y_true), _texts(y_pred), strict=True):
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


def _texts(cells: np.ndarray) -> list[str]:
    """Cells as text, missing ones as "nan"."""
    return list(map(str, np.where(pd.isna(cells), "nan", cells.astype(object))))
