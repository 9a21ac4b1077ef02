"""Rankings beside brute-force definitions and scikit-learn, and orders beside SciPy's Kendall tau."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import label_ranking_average_precision_score as sklearn_lrap

from mlebench.metrics.ranking import (
    count_inversions,
    kendall_tau_score,
    label_ranking_average_precision_score,
    mean_average_precision_at_k_score,
)

CELLS = st.lists(st.sampled_from(["7", "07", "8", "9", "10", "nan", ""]), min_size=1, max_size=9).map(" ".join)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12)
ORDERS = st.lists(st.integers(0, 40).flatmap(lambda n: st.permutations(range(n))), min_size=1, max_size=6)


def cells(values):
    return np.array(values, dtype=object)


def average_precision(truth, guess, k):
    relevant, hits, total = set(truth.split(" ")), 0, 0.0
    guesses = guess.split(" ")[:k]
    for i, entry in enumerate(guesses):
        if entry in relevant and entry not in guesses[:i]:
            hits += 1
            total += hits / (i + 1)
    return total / min(len(relevant), k)


@given(ROWS, st.integers(1, 14))
def test_mean_average_precision_is_its_definition(rows, k):
    truths, guesses = zip(*rows, strict=True)
    expected = np.mean([average_precision(truth, guess, k) for truth, guess in rows])
    found = mean_average_precision_at_k_score(cells(truths), cells(guesses), k=k)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "guess", "expected"),
    [
        (cells(["7"]), np.array([7]), 1.0),  # a number counts as its digits
        (cells(["7"]), np.array([7.0]), 0.0),  # which are "7.0" in a column that holds fractions
        (cells(["07"]), cells(["7"]), 0.0),  # entries are compared as text
        (cells(["7 8"]), cells([np.nan]), 0.0),
        (cells(["nan"]), cells([None]), 1.0),
        (cells(["7 7 7"]), cells(["7"]), 1.0),  # truths are sets
        (cells(["7 8"]), cells(["7 7 8"]), (1 + 2 / 3) / 2),  # a repeated entry uses up its rank
        (cells(["7"]), cells([" 7"]), 0.5),  # and so does an empty one
        (cells(["1 2 3"]), cells(["9 9 1 2 3"]), 1 / 3 / 3),  # entries after the k-th are cut off
    ],
)
def test_edges_of_mean_average_precision(truth, guess, expected):
    assert mean_average_precision_at_k_score(truth, guess, k=3) == pytest.approx(expected, abs=1e-15)


def test_mean_average_precision_refuses_other_shapes_and_cuts():
    with pytest.raises(ValueError, match="shape"):
        mean_average_precision_at_k_score(cells(["7"]), cells(["7", "8"]), k=3)
    with pytest.raises(ValueError, match="at least 1"):
        mean_average_precision_at_k_score(cells(["7"]), cells(["7"]), k=0)


@given(st.integers(0, 70).flatmap(lambda n: st.permutations(range(n))))
def test_inversions_are_counted_as_defined(order):
    expected = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
    assert count_inversions(np.array(order)) == expected


@given(st.integers(2, 60).flatmap(lambda n: st.permutations(range(n))))
def test_tau_of_one_order_is_that_of_scipy(order):
    truth = " ".join(f"cell{i}" for i in range(len(order)))
    guess = " ".join(f"cell{i}" for i in order)
    expected = kendalltau(np.argsort(order), np.arange(len(order))).statistic
    assert kendall_tau_score(cells([truth]), cells([guess])) == pytest.approx(expected, abs=1e-12)


@given(ORDERS)
def test_tau_of_many_orders_sums_inversions_and_pairs(orders):
    pairs = sum(len(order) * (len(order) - 1) for order in orders)
    if pairs == 0:
        return
    inversions = sum(order[i] < order[j] for order in orders for i in range(len(order)) for j in range(i))
    truths = cells([" ".join(map(str, range(len(order)))) for order in orders])
    guesses = cells([" " + "   ".join(map(str, order)) for order in orders])
    assert kendall_tau_score(truths, guesses) == pytest.approx(1 - 4 * inversions / pairs, abs=1e-12)
    assert kendall_tau_score(guesses, truths) == pytest.approx(1 - 4 * inversions / pairs, abs=1e-12)


def test_tau_of_a_long_order():
    order = np.random.default_rng(0).permutation(100_000)
    expected = kendalltau(np.argsort(order), np.arange(len(order))).statistic
    truth, guess = " ".join(map(str, range(len(order)))), " ".join(map(str, order))
    assert kendall_tau_score(cells([truth]), cells([guess])) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("guess", ["a b", "a b c d", "a b b", "a b x", ""])
def test_tau_refuses_what_is_no_permutation(guess):
    with pytest.raises(ValueError, match="exactly once"):
        kendall_tau_score(cells(["a b c", "d e"]), cells([guess, "e d"]))


def test_tau_refuses_an_entry_in_another_row():
    with pytest.raises(ValueError, match="exactly once"):
        kendall_tau_score(cells(["a b", "c d"]), cells(["a c", "b d"]))


def test_tau_needs_a_row_with_two_entries():
    with pytest.raises(ValueError, match="no order"):
        kendall_tau_score(cells(["a", "b"]), cells(["a", "b"]))


@st.composite
def label_rankings(draw):
    rows, labels = draw(st.integers(1, 6)), draw(st.integers(2, 9))
    truth = draw(st.lists(st.lists(st.integers(0, 1), min_size=labels, max_size=labels), min_size=rows, max_size=rows))
    score = st.sampled_from([-1e300, -2.5, 0.0, -0.0, 1e-320, 0.1, 0.1 + 2**-55, 3.0, 1e300])
    scores = draw(st.lists(st.lists(score, min_size=labels, max_size=labels), min_size=rows, max_size=rows))
    return np.array(truth), np.array(scores)


@given(label_rankings())
def test_label_ranking_is_that_of_scikit_learn(ranking):
    truth, scores = ranking
    found = label_ranking_average_precision_score(truth, scores)
    counts = truth.sum(axis=1)
    if not counts.any():
        assert np.isnan(found)
        return
    kept = counts > 0
    expected = sklearn_lrap(truth[kept], scores[kept], sample_weight=counts[kept])
    assert found == pytest.approx(expected, abs=1e-12)


@given(label_rankings())
def test_label_ranking_is_its_definition(ranking):
    truth, scores = ranking
    precisions = []
    for row, values in zip(truth, scores, strict=True):
        for label in np.flatnonzero(row):
            above = values >= values[label]
            precisions.append(row[above].sum() / above.sum())
    expected = np.mean(precisions) if precisions else np.nan
    assert label_ranking_average_precision_score(truth, scores) == pytest.approx(expected, nan_ok=True)


def test_label_ranking_of_constant_scores_is_the_weighted_share_of_true_labels():
    truth = np.eye(80, dtype=int)[:5]
    truth[0, :3] = 1
    expected = (3 * 3 + 4) / 7 / 80
    assert label_ranking_average_precision_score(truth, np.zeros((5, 80))) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        (np.eye(2), np.eye(3)),
        (np.ones(3), np.ones(3)),
        (np.eye(2) * 2, np.eye(2)),
        (np.eye(2), np.array([[0, np.nan], [0, 0]])),
        (np.eye(2), np.array([[0, np.inf], [0, 0]])),
        (np.empty((0, 2)), np.empty((0, 2))),
    ],
)
def test_label_ranking_refuses_other_shapes_and_values(truth, scores):
    with pytest.raises(ValueError):
        label_ranking_average_precision_score(truth, scores)
