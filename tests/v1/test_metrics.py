import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.metrics import average_precision_at_k, dice_coefficient, find, mean_average_precision_at_k

LABELS = st.integers(0, 6)


def defined(actual, predicted, k):
    """The definition: precision at each rank with a new right label, over the best that could be had."""
    hits = [
        rank
        for rank in range(1, min(k, len(predicted)) + 1)
        if predicted[rank - 1] in actual and predicted[rank - 1] not in predicted[: rank - 1]
    ]
    return sum((place + 1) / rank for place, rank in enumerate(hits)) / min(len(set(actual)), k)


@given(st.lists(LABELS, min_size=1), st.lists(LABELS), st.integers(1, 8))
def test_average_precision_is_as_defined(actual, predicted, k):
    assert average_precision_at_k(actual, predicted, k) == pytest.approx(defined(actual, predicted, k))


@given(st.lists(st.tuples(st.lists(LABELS, min_size=1), st.lists(LABELS, min_size=1)), min_size=1), st.integers(1, 8))
def test_the_mean_equals_that_of_the_library(rows, k):
    actual, predicted = (list(column) for column in zip(*rows, strict=True))
    texts = [np.array([" ".join(map(str, row)) for row in column], dtype=object) for column in (actual, predicted)]
    expected = find("mean_average_precision_at_k")(*texts, k=k)
    assert mean_average_precision_at_k(actual, predicted, k) == pytest.approx(expected)


def test_edges_of_average_precision():
    assert average_precision_at_k([], ["a"], 5) == 0.0
    assert average_precision_at_k(["a"], [], 5) == 0.0
    assert average_precision_at_k(["a"], ["a", "a"], 5) == 1.0
    assert average_precision_at_k("ab", "ba", 1) == 1.0
    with pytest.raises(ValueError, match="2 rows, predicted 1"):
        mean_average_precision_at_k([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="no rows"):
        mean_average_precision_at_k([], [])


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_dice_is_as_defined(pixels):
    first, second = ({place for place, pair in enumerate(pixels) if pair[side]} for side in (0, 1))
    masks = np.array(pixels, dtype=bool).reshape(-1, 2)
    expected = 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0
    assert dice_coefficient(masks[:, 0], masks[:, 1]) == expected


def test_dice_of_other_shapes_is_refused():
    with pytest.raises(ValueError, match="shape"):
        dice_coefficient(np.zeros((2, 2)), np.zeros(4))
