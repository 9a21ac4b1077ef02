"""Word-level Jaccard against a definition that counts words one by one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.metrics.text import mean_word_jaccard_score, word_jaccard

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
