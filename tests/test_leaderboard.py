"""Medal rules, thresholds, ranks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench import leaderboard
from mlebench.leaderboard import leaderboard_of_scores, medal_positions

BUILT_IN = [json.loads(line) for line in leaderboard._FILE.read_text().splitlines()]


@pytest.mark.parametrize(
    ("teams", "gold", "silver", "bronze"),
    [
        (1, 1, 1, 1),
        (9, 1, 1, 3),
        (99, 9, 19, 39),
        (100, 10, 20, 40),
        (249, 10, 49, 99),
        (250, 10, 50, 100),
        (499, 10, 50, 100),
        (500, 11, 50, 100),
        (999, 11, 50, 100),
        (1000, 12, 50, 100),
        (2288, 14, 114, 228),
    ],
)
def test_medal_positions(teams, gold, silver, bronze):
    assert medal_positions(teams) == {"gold": gold, "silver": silver, "bronze": bronze}


@pytest.mark.parametrize("facts", BUILT_IN, ids=lambda facts: facts["id"])
def test_known_ranks_agree_with_the_thresholds(facts):
    """The score at each medal's position is the threshold, wherever that position is a known rank."""
    known = dict(zip(facts["points"][::2], facts["points"][1::2], strict=True))
    for name, position in medal_positions(facts["teams"]).items():
        if position in known:
            assert known[position] == facts[name]
    assert known.keys() >= {1, facts["teams"]}
    assert facts["lower_is_better"] == (known[1] < known[facts["teams"]])


def test_there_are_82():
    assert len(BUILT_IN) == 82


scores = st.lists(st.integers(0, 50).map(float), min_size=1, max_size=300)


@given(scores, st.integers(-1, 51).map(float), st.booleans())
def test_rank_is_one_more_than_the_number_of_better_teams(humans, score, lower):
    board = leaderboard_of_scores(humans, lower)
    better = sum(human < score if lower else human > score for human in humans)
    assert board.rank(score) == better + 1
    assert board.percentile(score) == pytest.approx(1 - better / len(humans))


@given(scores, st.integers(-1, 51).map(float), st.booleans())
def test_a_tie_with_the_threshold_wins_the_medal(humans, score, lower):
    board = leaderboard_of_scores(humans, lower)
    ordered = sorted(humans, reverse=not lower)
    expected = None
    for name, position in medal_positions(len(humans)).items():
        threshold = ordered[position - 1]
        if expected is None and (score <= threshold if lower else score >= threshold):
            expected = name
    assert board.medal(score) == expected


@pytest.mark.parametrize("facts", BUILT_IN, ids=lambda facts: facts["id"])
def test_ranks_fall_between_their_neighbours(facts):
    board = leaderboard.Leaderboard(
        **{key: facts[key] for key in ("teams", "lower_is_better", "gold", "silver", "bronze", "median")},
        ranks=tuple(facts["points"][::2]),
        scores=tuple(facts["points"][1::2]),
    )
    for rank, following, score, worse in zip(
        board.ranks, board.ranks[1:], board.scores, board.scores[1:], strict=False
    ):
        assert board.rank(score) <= rank
        middle = (score + worse) / 2
        if score != worse and middle not in (score, worse):
            assert rank < board.rank(middle) <= following
    assert board.rank(float("inf") if board.lower_is_better else float("-inf")) == board.teams + 1
    assert board.rank(board.scores[0]) == 1
