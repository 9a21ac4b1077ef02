import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.leaderboard import leaderboard_of_scores
from mlebench.report import figure
from mlebench.report.figure import Scored


def drawn(scores, attempts, lower_is_better=False):
    board = leaderboard_of_scores(list(scores), lower_is_better)
    return figure.draw(board, [Scored(str(seed), score, "no-medal") for seed, score in enumerate(attempts)])


def points(drawing):
    return np.array([[float(number) for number in point.split(",")] for point in drawing.curve.split()])


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300),
    st.lists(st.floats(allow_nan=False), max_size=20),
    st.booleans(),
)
def test_everything_is_inside_and_the_curve_rises(scores, attempts, lower_is_better):
    drawing = drawn(scores, attempts, lower_is_better)
    curve = points(drawing)
    ordered = curve[np.argsort(curve[:, 0], kind="stable")]
    assert (np.diff(ordered[:, 1]) <= 0).all()  # y grows downwards
    for x, y in [*curve, *((dot.x, dot.y) for dot in drawing.dots)]:
        assert figure.LEFT <= x <= figure.RIGHT
        assert figure.TOP <= y <= figure.BOTTOM
    assert all(figure.TOP <= tick.at <= figure.BOTTOM for tick in drawing.y_ticks)
    assert "nan" not in repr(drawing)


def test_an_absurd_outlier_does_not_squeeze_the_rest():
    scores = [*np.linspace(1, 3, 1000), 24_987_861.69584, 1e12]
    with_outliers = drawn(scores, [2.0], lower_is_better=True)
    assert all(re.fullmatch(r"[0-9.]{1,4}", tick.label) for tick in with_outliers.y_ticks)
    assert len(with_outliers.y_ticks) >= 3
    heights = points(with_outliers)[:, 1]
    assert heights.max() - heights.min() > 0.8 * (figure.BOTTOM - figure.TOP)


def test_scores_off_the_axis_are_marked_by_direction():
    lower = drawn(range(1, 101), [-1e6, 50, 1e6], lower_is_better=True)
    assert {dot.label: dot.beyond for dot in lower.dots} == {"0": "above", "1": "", "2": "below"}
    higher = drawn(range(1, 101), [-1e6, 50, 1e6])
    assert {dot.label: dot.beyond for dot in higher.dots} == {"0": "below", "1": "", "2": "above"}


def test_a_better_score_stands_further_right_and_higher():
    for lower_is_better in (False, True):
        worse, better = (30, 70) if not lower_is_better else (70, 30)
        dots = {dot.label: dot for dot in drawn(range(1, 101), [worse, better], lower_is_better).dots}
        assert dots["1"].x > dots["0"].x
        assert dots["1"].y < dots["0"].y


def test_bands_hold_the_scores_that_take_the_medal():
    # 100 teams: gold 10 (91 and better), silver 20 (81), bronze 40 (61).
    drawing = drawn(range(1, 101), [91, 90, 81, 80, 61, 60])
    bands = {band.medal: (band.x, band.x + band.width) for band in drawing.bands}
    assert list(bands) == ["gold", "silver", "bronze"]

    def medal(x):
        return next((name for name, (left, right) in bands.items() if left <= x <= right), None)

    medals = {dot.label: medal(dot.x) for dot in drawing.dots}
    assert medals == {"0": "gold", "1": "silver", "2": "silver", "3": "bronze", "4": "bronze", "5": None}


def test_medals_that_one_score_takes_are_one_band():
    assert [band.medal for band in drawn([1.0] * 100, [1.0]).bands] == ["gold"]


def test_labels_do_not_cover_each_other():
    dots = drawn(range(1, 101), [99, 99.1, 99.2, 99.3, 50, 50.1]).dots
    gaps = np.diff([dot.label_x for dot in dots])
    assert (gaps >= 14.9).all()
    assert max(dot.label_x for dot in dots) <= figure.WIDTH


@pytest.mark.parametrize(("number", "labelled"), [(12, True), (13, False)])
def test_many_attempts_are_not_labelled(number, labelled):
    assert drawn(range(100), range(number)).labelled is labelled
