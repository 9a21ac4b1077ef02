"""Word-level Jaccard against a definition that counts words one by one, edit distances against the textbook's table."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.metrics.text import (
    exact_match_score,
    levenshtein_distances,
    mean_levenshtein_distance,
    mean_word_jaccard_score,
    relative_sequence_distance,
    word_jaccard,
)

WORDS = st.text(alphabet="aAbBéÉİßς,.\u00a0\t\n\r\x1c  ", max_size=8)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=20)


def _by_counting(truth, predicted):
    first, second = truth.lower().split(), predicted.lower().split()
    either = list(dict.fromkeys(first + second))
    both = [word for word in either if word in first and word in second]
    return len(both) / len(either) if either else math.nan


@given(PAIRS)
def test_equals_counting_words(pairs):
    truth, predicted = zip(*pairs, strict=True)
    expected = [_by_counting(*pair) for pair in pairs]
    assert word_jaccard(truth, predicted).tolist() == pytest.approx(expected, nan_ok=True)
    assert mean_word_jaccard_score(truth, predicted) == pytest.approx(sum(expected) / len(expected), nan_ok=True)


@given(PAIRS)
def test_symmetric_and_bounded(pairs):
    truth, predicted = zip(*pairs, strict=True)
    score = mean_word_jaccard_score(truth, predicted)
    assert score == pytest.approx(mean_word_jaccard_score(predicted, truth), nan_ok=True)
    assert math.isnan(score) or 0 <= score <= 1


@pytest.mark.parametrize(
    ("truth", "predicted", "score"),
    [
        ("hate this, really", "hate this", 1 / 4),
        ("so happy", "SO   happy\n", 1.0),
        ("no no no", "no", 1.0),
        ("one two", "two one", 1.0),
        ("word", "", 0.0),
        ("", "word", 0.0),
        ("123", "123.0", 0.0),
    ],
)
def test_single_rows(truth, predicted, score):
    assert mean_word_jaccard_score([truth], [predicted]) == score


def test_undefined_as_soon_as_one_row_has_no_words():
    assert math.isnan(mean_word_jaccard_score(["a", " "], ["a", ""]))


@pytest.mark.parametrize(("truth", "predicted"), [(["a"], ["a", "b"]), ([], [])])
def test_lengths_must_agree_and_hold_a_row(truth, predicted):
    with pytest.raises(ValueError):
        mean_word_jaccard_score(truth, predicted)


def _by_table(first, second):
    """Levenshtein distance by the textbook's table."""
    above = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


def cells(values):
    return np.array(values, dtype=object)


LETTERS = st.text(alphabet="abÄ\u0308😀 \n", max_size=80)
ENTRIES = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**70), 2**70)), max_size=70)


@given(st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=4))
def test_levenshtein_distance_is_that_of_the_table(pairs):
    truth, predicted = zip(*pairs, strict=True)
    expected = [_by_table(*pair) for pair in pairs]
    assert levenshtein_distances(truth, predicted).tolist() == expected
    assert mean_levenshtein_distance(cells(truth), cells(predicted)) == pytest.approx(np.mean(expected))


@given(st.lists(st.tuples(ENTRIES, ENTRIES), min_size=1, max_size=4))
def test_distance_of_sequences_is_that_of_the_table(pairs):
    truth, predicted = zip(*pairs, strict=True)
    total = sum(map(len, truth))
    expected = sum(_by_table(*pair) for pair in pairs) / total if total else math.nan
    assert relative_sequence_distance(truth, predicted) == pytest.approx(expected, nan_ok=True)


def test_entries_that_hash_alike_differ():
    assert relative_sequence_distance([[-1, 0]], [[-2, 2**61 - 1]]) == 1.0


@pytest.mark.parametrize(
    ("truth", "predicted", "distance"),
    [
        (cells(["nan"]), cells([math.nan]), 0),
        (cells(["12"]), np.array([12]), 0),
        (cells(["12"]), np.array([12.0]), 2),
        (cells(["naïve"]), cells(["nai\u0308ve"]), 2),
        (cells(["e\u0301"]), cells(["é"]), 2),
        (cells(["True"]), np.array([True]), 0),
        (cells(["a" * 5000 + "b" * 5000]), cells(["b" * 5000]), 5000),
    ],
)
def test_texts_of_cells(truth, predicted, distance):
    assert mean_levenshtein_distance(truth, predicted) == distance
    assert exact_match_score(truth, predicted) == (distance == 0)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=20))
def test_exact_match_is_the_share_of_distances_of_zero(pairs):
    truth, predicted = map(cells, zip(*pairs, strict=True))
    expected = np.mean(levenshtein_distances(truth, predicted) == 0)
    assert exact_match_score(truth, predicted) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [exact_match_score, mean_levenshtein_distance, relative_sequence_distance])
@pytest.mark.parametrize(("truth", "predicted"), [(["a"], ["a", "b"]), ([], [])])
def test_rows_must_agree_and_there_must_be_some(metric, truth, predicted):
    with pytest.raises(ValueError):
        metric(cells(truth), cells(predicted))
