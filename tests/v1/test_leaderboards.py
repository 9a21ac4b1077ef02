import json
import statistics
from pathlib import Path

import pandas as pd
import pytest

import mlebench.leaderboard
from mlebench._v1.leaderboards import board_of_rows, leaderboard_file
from mlebench.data import ensure_leaderboard_exists, get_leaderboard
from mlebench.grade_helpers import Grader
from mlebench.leaderboard import Leaderboard, medal_positions
from mlebench.tables import read_csv

FACTS = [
    json.loads(line)
    for line in (Path(mlebench.leaderboard.__file__).parent / "leaderboards.jsonl").read_text().splitlines()
]
GRADER = Grader("any", "math:hypot")
MEDALS = ["gold_medal", "silver_medal", "bronze_medal"]


class Stub:
    """As much of a competition as the file needs."""

    def __init__(self, facts):
        self.id = facts["id"]
        thresholds = {key: facts[key] for key in ("teams", "lower_is_better", "gold", "silver", "bronze", "median")}
        points = facts["points"]
        self.leaderboard = Leaderboard(**thresholds, ranks=tuple(points[::2]), scores=tuple(points[1::2]))


def test_there_are_82():
    assert len({facts["id"] for facts in FACTS}) == 82


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts["id"])
def test_the_file_gives_the_published_figures(facts):
    table = read_csv(leaderboard_file(Stub(facts)))
    scores = table["score"].tolist()
    assert len(scores) == facts["teams"]
    assert scores == sorted(scores, reverse=not facts["lower_is_better"])
    assert table["score"].median() == facts["median"] == statistics.median(scores)
    for name, position in medal_positions(len(scores)).items():
        assert scores[position - 1] == facts[name]
    points = facts["points"]
    assert [scores[rank - 1] for rank in points[::2]] == points[1::2]
    board = board_of_rows(table)
    expected = {key: facts[key] for key in ("teams", "lower_is_better", "gold", "silver", "bronze", "median")}
    assert {key: getattr(board, key) for key in expected} == expected
    assert GRADER.is_lower_better(table) is facts["lower_is_better"]


def test_the_name_says_whether_ranks_are_interpolated():
    for facts in FACTS:
        assert ("interpolated" in leaderboard_file(Stub(facts)).name) == (len(facts["points"]) < 2 * facts["teams"])


def test_the_file_is_written_once(cache):
    first = leaderboard_file(Stub(FACTS[0]))
    written = first.stat().st_mtime_ns
    assert leaderboard_file(Stub(FACTS[0])) == first
    assert first.stat().st_mtime_ns == written
    assert [path.name for path in first.parent.iterdir()] == [first.name]  # nothing temporary is left
    assert first.is_relative_to(cache)


def test_the_leaderboard_can_be_had_again_after_it_was_deleted(unprepared):
    unprepared.leaderboard.unlink()
    assert ensure_leaderboard_exists(unprepared) == unprepared.leaderboard
    assert len(get_leaderboard(unprepared)) == 2288
    unprepared.leaderboard.write_text("spoilt")
    ensure_leaderboard_exists(unprepared, force=True)
    assert len(get_leaderboard(unprepared)) == 2288


LOWER = pd.DataFrame({"score": [float(place) for place in range(1, 1001)]})
HIGHER = LOWER[::-1].reset_index(drop=True)


@pytest.mark.parametrize(
    ("score", "medal"),
    [(1.0, "gold_medal"), (12.0, "gold_medal"), (12.5, "silver_medal"), (50.0, "silver_medal"),
     (51.0, "bronze_medal"), (100.0, "bronze_medal"), (101.0, None), (None, None)],
)  # fmt: skip
def test_medals_exclude_each_other(score, medal):
    ranks = GRADER.rank_score(score, LOWER)
    assert {name: ranks[name] for name in MEDALS} == {name: name == medal for name in MEDALS}
    thresholds = [ranks[f"{name}_threshold"] for name in ("gold", "silver", "bronze", "median")]
    assert thresholds == [12.0, 50.0, 100.0, 500.5]
    assert len(ranks) == 8


def test_above_median_is_strict():
    table = pd.DataFrame({"score": [3.0, 2.0, 1.0]})
    assert GRADER.rank_score(2.0, table)["above_median"] is False
    assert GRADER.rank_score(2.1, table)["above_median"] is True


def test_direction_is_that_of_the_rows():
    assert GRADER.is_lower_better(LOWER) is True
    assert GRADER.is_lower_better(HIGHER) is False
    assert GRADER.is_lower_better(pd.DataFrame({"score": [0.5, 0.5]})) is False
    assert GRADER.rank_score(1000.0, HIGHER)["gold_medal"] is True


def test_a_frame_without_scores_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'score'.*teamName"):
        GRADER.is_lower_better(pd.DataFrame({"teamName": ["a"]}))
    with pytest.raises(ValueError, match="no rows"):
        GRADER.rank_score(1.0, pd.DataFrame({"score": []}))
