"""Metrics of ranked lists and of orders, both written as texts of entries parted by blanks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pandas as pd

from mlebench.metrics._checks import FloatArray, require_same_shape

_BLOCK = 65_536  # rows looked at together, so that memory stays bounded
IntArray = npt.NDArray[np.int64]


def mean_average_precision_at_k_score(y_true: np.ndarray, y_pred: np.ndarray, *, k: int) -> float:
    """Mean over the rows of the average precision of the first `k` entries; 1 is perfect, 0 the worst.

    Both arrays: one text a row, shape (rows,), split at every single blank; a missing cell is the word "nan",
    a number its digits. Truths are sets. An entry that repeats an earlier one, or is empty (two blanks in a
    row), uses up its rank and is no hit. A row's sum of (hits so far / rank) over its hits is divided by the
    size of the truth or `k`, whichever is less. Raises ValueError if the shapes differ or `k` is below 1.
    Source: Kaggle's MAP@K; Manning et al., Introduction to Information Retrieval (2008), section 8.4.

    >>> mean_average_precision_at_k_score(np.array(["a b", "c"]), np.array(["b x a", "x c"]), k=2)
    0.5
    """
    require_same_shape(y_true, y_pred)
    if k < 1:
        raise ValueError(f"k is {k}, it is at least 1")
    total = 0.0
    for start in range(0, len(y_true), _BLOCK):
        block = slice(start, start + _BLOCK)
        truths = [text.split(" ") for text in _texts(y_true[block])]
        guesses = [text.split(" ", k)[:k] for text in _texts(y_pred[block])]
        total += float(_average_precisions(truths, guesses, k).sum())
    return total / len(y_true)


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
    truths = [text.split() for text in _texts(y_true)]
    guesses = [text.split() for text in _texts(y_pred)]
    lengths = _lengths(truths)
    pairs = int((lengths * (lengths - 1)).sum())
    if pairs == 0:
        raise ValueError("no row has two entries, so there is no order")
    return 1 - 4 * count_inversions(_true_places(truths, guesses)) / pairs


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


def _average_precisions(truths: Sequence[list[str]], guesses: Sequence[list[str]], k: int) -> FloatArray:
    """Average precision of each row, shape (rows,); no list is empty and no guess longer than `k`."""
    true_keys, guessed_keys = _keys(truths, guesses)
    true_rows, _ = _rows_and_places(truths)
    rows, places = _rows_and_places(guesses)
    relevant, first = np.unique(true_keys, return_index=True)
    sizes = np.bincount(true_rows[first], minlength=len(truths))

    relevant_at = np.flatnonzero(np.isin(guessed_keys, relevant))
    _, first = np.unique(guessed_keys[relevant_at], return_index=True)  # a repeated entry is no hit
    hit = np.zeros(len(guessed_keys), dtype=bool)
    hit[relevant_at[first]] = True
    hits = np.cumsum(hit)
    hits_in_row = hits - (hits - hit)[places == 0][rows]
    gains = np.where(hit, hits_in_row / (places + 1), 0.0)
    return np.bincount(rows, gains, minlength=len(guesses)) / np.minimum(sizes, k)


def _true_places(truths: Sequence[list[str]], guesses: Sequence[list[str]]) -> IntArray:
    """Where each guessed entry stands among all entries of all truths, shape (entries,)."""
    true_keys, guessed_keys = _keys(truths, guesses)
    by_true_key, by_guessed_key = np.argsort(true_keys), np.argsort(guessed_keys)
    ordered = true_keys[by_true_key]
    if not np.array_equal(ordered, guessed_keys[by_guessed_key]) or (ordered[1:] == ordered[:-1]).any():
        raise ValueError("a row does not hold each entry of its truth exactly once")
    places = np.empty_like(by_true_key)
    places[by_guessed_key] = by_true_key
    return places


def _keys(left: Sequence[list[str]], right: Sequence[list[str]]) -> tuple[IntArray, IntArray]:
    """A number for each entry of each side, equal where row and entry are equal."""
    entries = np.array([*chain.from_iterable(left), *chain.from_iterable(right)], dtype=object)
    codes, distinct = pd.factorize(entries)
    rows = np.concatenate([_rows_and_places(left)[0], _rows_and_places(right)[0]])
    keys = rows * len(distinct) + codes
    size = int(_lengths(left).sum())
    return keys[:size], keys[size:]


def _rows_and_places(lists: Sequence[list[str]]) -> tuple[IntArray, IntArray]:
    """The row of each entry and its place in the row, both from 0, shape (entries,)."""
    lengths = _lengths(lists)
    rows = np.repeat(np.arange(len(lists)), lengths)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _lengths(lists: Sequence[list[str]]) -> IntArray:
    return np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))


def _texts(cells: np.ndarray) -> list[str]:
    """Cells as text, missing ones as "nan"."""
    return list(map(str, np.where(pd.isna(cells), "nan", cells.astype(object))))
