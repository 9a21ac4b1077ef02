"""F1 scores beside scikit-learn's."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from mlebench.metrics.f1 import macro_f1_score, mean_f1_over_labels_score, micro_f1_over_labels_score

CLASSES = st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 5)), min_size=1, max_size=40)
CELLS = st.lists(st.sampled_from(["a", "b", "c#", "7", "nan", "A", "", " "]), max_size=5).map(" ".join)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12)


def cells(values):
    return np.array(values, dtype=object)


def indicators(rows, labels):
    labels = [*labels, "never", "either"]  # scikit-learn takes a single column for classes
    return MultiLabelBinarizer(classes=labels, sparse_output=True).fit_transform([row.split() for row in rows])


@given(CLASSES)
def test_macro_f1_is_that_of_scikit_learn(rows):
    true, pred = np.array(rows).T
    assert macro_f1_score(true, pred) == pytest.approx(f1_score(true, pred, average="macro", zero_division=0))


@given(CLASSES, st.randoms())
def test_macro_f1_ignores_the_order_of_rows_and_the_names_of_classes(rows, random):
    true, pred = np.array(rows).T
    order = random.sample(range(len(rows)), len(rows))
    names = cells(list("stuvwxyz"))
    assert macro_f1_score(true[order], pred[order]) == pytest.approx(macro_f1_score(true, pred))
    assert macro_f1_score(names[true + 2], names[pred + 2]) == pytest.approx(macro_f1_score(true, pred))


@pytest.mark.parametrize(
    ("true", "pred", "expected"),
    [
        ([3, 3], [3.9, 3.0], 1.0),
        ([0, 0], [-0.9, 0.9], 1.0),  # towards zero
        ([1, 0], [True, False], 1.0),
        ([1, 2], [1, 99], 1 / 3),  # a class that is never true adds a zero, and so does one never predicted
        ([7], [1e300], 0.0),
    ],
)
def test_edges_of_macro_f1(true, pred, expected):
    assert macro_f1_score(np.array(true), np.array(pred), truncate=True) == pytest.approx(expected)


def test_macro_f1_refuses_other_shapes_and_what_is_not_finite():
    with pytest.raises(ValueError, match="shape"):
        macro_f1_score(np.array([1]), np.array([1, 2]))
    with pytest.raises(ValueError, match="no rows"):
        macro_f1_score(np.array([]), np.array([]))
    with pytest.raises(ValueError, match="infinite"):
        macro_f1_score(np.array([1]), np.array([np.nan]), truncate=True)


def test_macro_f1_of_many_classes():
    rng = np.random.default_rng(0)
    true, pred = rng.integers(0, 20_000, (2, 100_000))
    assert macro_f1_score(true, pred) == pytest.approx(f1_score(true, pred, average="macro"), abs=1e-12)


@given(ROWS)
def test_micro_f1_is_that_of_scikit_learn(rows):
    truths, guesses = zip(*rows, strict=True)
    labels = sorted({label for row in [*truths, *guesses] for label in row.split()})
    expected = f1_score(indicators(truths, labels), indicators(guesses, labels), average="micro", zero_division=0)
    assert micro_f1_over_labels_score(cells(truths), cells(guesses)) == pytest.approx(expected)


@given(ROWS)
def test_micro_f1_of_true_labels_only_is_that_of_their_columns(rows):
    truths, guesses = zip(*rows, strict=True)
    labels = sorted({label for row in truths for label in row.split()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of the labels it leaves out
        both = indicators(truths, labels), indicators(guesses, labels)
    expected = f1_score(*both, average="micro", zero_division=0)
    found = micro_f1_over_labels_score(cells(truths), cells(guesses), true_labels_only=True)
    assert found == pytest.approx(expected)


@given(ROWS)
def test_mean_f1_is_that_of_scikit_learn(rows):
    truths, guesses = zip(*rows, strict=True)
    labels = sorted({label for row in [*truths, *guesses] for label in row.split()})
    both = indicators(truths, labels), indicators(guesses, labels)
    expected = f1_score(*both, average="samples", zero_division=0)
    assert mean_f1_over_labels_score(cells(truths), cells(guesses)) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [micro_f1_over_labels_score, mean_f1_over_labels_score])
@pytest.mark.parametrize(
    ("true", "pred", "expected"),
    [
        (["a b"], ["b\t a  a\n"], 1.0),  # sets, and any white space parts them
        (["a"], ["A"], 0.0),
        (["a"], [None], 0.0),
        ([np.nan], [""], 0.0),
        (["7"], [7], 1.0),
        (["7"], [7.0], 0.0),
    ],
)
def test_edges_of_label_sets(metric, true, pred, expected):
    assert metric(cells(true), cells(pred)) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [micro_f1_over_labels_score, mean_f1_over_labels_score])
def test_label_sets_of_other_shapes_are_refused(metric):
    with pytest.raises(ValueError, match="shape"):
        metric(cells(["a"]), cells(["a", "b"]))
    with pytest.raises(ValueError, match="no rows"):
        metric(cells([]), cells([]))
