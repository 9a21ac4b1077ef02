"""Leaderboards fetched from Kaggle: which one it is, exact ranks, thresholds that differ, and who uses them."""

import dataclasses
import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from kaggle_stand_in import Fault
from mlebench import catalog
from mlebench.data import ensure_leaderboard_exists, get_leaderboard
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.grade import grade_csv
from mlebench.grading import grade, make_report
from mlebench.leaderboard import medal_positions
from mlebench.preparation.kaggle.errors import KaggleError, RateLimited
from mlebench.preparation.kaggle.leaderboards import (
    ENOUGH,
    agreement,
    describe_leaderboard,
    fetch_leaderboard,
    fetch_leaderboards,
)
from mlebench.registry import Registry

NAME = "spaceship-titanic"  # more is better
LOWER = "new-york-city-taxi-fare-prediction"  # less is better


def standings_of(name, seed=0):
    """Teams with scores that agree with all that is known of a leaderboard, and lie at random between."""
    board = catalog.get(name).leaderboard
    assert board is not None
    rng = random.Random(seed)
    straight = board.expanded()
    known = {*board.ranks, *medal_positions(board.teams).values(), (board.teams + 1) // 2, board.teams // 2 + 1}
    scores = [straight[0]]
    for rank, following in pairwise(sorted(known)):
        score, worse = straight[rank - 1], straight[following - 1]
        between = (round(rng.uniform(worse, score), 5) for _ in range(rank + 1, following))
        scores += [*sorted(between, reverse=score > worse), worse]
    return [(f"team, {place}", repr(score)) for place, score in enumerate(scores, 1)]


def public_of(standings, seed=1):
    """What the public leaderboard may have been: other rows, other scores."""
    rng = random.Random(seed)
    return [(team, f"{float(score) * rng.uniform(0.97, 1.03) + 0.001:.5f}") for team, score in standings]


@pytest.fixture
def dataset(tmp_path):
    return Dataset(catalog.get(NAME), tmp_path / "data")


@pytest.fixture
def held(kaggle):
    return kaggle.add(NAME, b"", standings=standings_of(NAME))


def rows(dataset):
    return dataset.leaderboard_path.read_text().splitlines()


@pytest.mark.parametrize("name", [NAME, LOWER])
def test_ranks_are_those_of_counting(client, kaggle, tmp_path, name):
    standings = standings_of(name)
    kaggle.add(name, b"", standings=standings)
    dataset = Dataset(catalog.get(name), tmp_path)
    facts = fetch_leaderboard(client, dataset)
    assert (facts["route"], facts["teams"], facts["agreement"], facts["differences"]) == ("zip", len(standings), 1, {})
    published, board = dataset.competition.leaderboard, dataset.leaderboard
    scores = [float(score) for _, score in standings]
    assert board.is_exact
    assert not published.is_exact
    rng = random.Random(0)
    low, high = min(scores), max(scores)
    asked = [*rng.sample(scores, 200), *(rng.uniform(low, high) for _ in range(200)), low - 1, high + 1]
    asked += [rng.choice(scores) + rng.uniform(-1e-4, 1e-4) for _ in range(200)]
    for score in asked:
        better = sum(each < score if board.lower_is_better else each > score for each in scores)
        assert board.rank(score) == better + 1
        assert board.percentile(score) == pytest.approx(1 - better / len(scores))
        assert board.medal(score) == published.medal(score)
    assert any(published.rank(score) != board.rank(score) for score in asked)  # or nothing was gained


def test_the_file_has_a_row_for_each_team(client, held, dataset):
    held.standings += [("nothing", ""), ("null", "null")]
    held.standings[41] = (held.standings[41][0], held.standings[40][1])
    facts = fetch_leaderboard(client, dataset)
    assert (facts["teams"], facts["without_score"]) == (2288, 2)
    assert rows(dataset)[0] == "rank,team_id,team,score,submitted"
    assert [line.partition(",")[0] for line in rows(dataset)[40:44]] == ["40", "41", "41", "43"]
    assert rows(dataset)[1].startswith('1,1,"team, 1",0.82815,2023')
    assert facts == json.loads(dataset.leaderboard_path.with_suffix(".json").read_text())
    assert {"fetched", "competition", "source", "md5", "mlebench"} <= facts.keys()
    assert sorted(path.name for path in dataset.home.iterdir()) == ["leaderboard.csv", "leaderboard.json"]


def test_a_public_leaderboard_in_the_zip_is_found_out(client, kaggle, held, dataset):
    held.public_standings, held.zips_public_board = public_of(held.standings), True
    facts = fetch_leaderboard(client, dataset)
    assert (facts["route"], facts["agreement"]) == ("list", 1)
    assert len(kaggle.calls("GetLeaderboard")) == 23
    assert dataset.leaderboard.scores == tuple(float(score) for _, score in held.standings)


def test_a_public_leaderboard_that_is_almost_the_same_is_found_out(client, held, dataset):
    swapped = list(held.standings)
    for place in range(30, 2200, 40):  # teams that stand elsewhere, with scores that are all there
        swapped[place] = (swapped[place][0], swapped[place - 3][1])
    held.public_standings, held.zips_public_board = swapped, True
    assert agreement(dataset.competition.leaderboard, [float(score) for _, score in swapped]) > ENOUGH
    assert fetch_leaderboard(client, dataset)["route"] == "list"


def test_public_leaderboards_alone_are_refused(client, held, dataset):
    held.standings = public_of(held.standings)
    with pytest.raises(KaggleError, match=r"the zip: only \d+% of the places.*the list: only"):
        fetch_leaderboard(client, dataset)
    assert not dataset.home.exists()


@pytest.mark.parametrize(
    ("facts", "faults"),
    [
        ({"board_archive": b"PK\3\4 and nothing else"}, []),
        ({"board_columns": ("Rank", "TeamName")}, []),
        ({}, [Fault.answer(404, "Not found")]),
        ({}, [Fault.rules()]),
    ],
    ids=["damaged zip", "unknown columns", "404", "rules"],
)
def test_where_the_zip_is_no_use_the_list_is_taken(client, kaggle, held, dataset, facts, faults):
    vars(held).update(facts)
    kaggle.fail("DownloadLeaderboard", *faults)
    assert fetch_leaderboard(client, dataset)["route"] == "list"
    assert dataset.leaderboard.is_exact


def test_both_reasons_are_told(client, kaggle, held, dataset):
    held.board_columns = ("Rank", "TeamName")
    kaggle.fail("GetLeaderboard", Fault.rules())
    with pytest.raises(KaggleError, match=r"'Rank', 'TeamName'.*competitions/spaceship-titanic/rules"):
        fetch_leaderboard(client, dataset)


@pytest.mark.parametrize("standings", [[], [("a", ""), ("b", "")]])
def test_nobody_on_the_leaderboard(client, held, dataset, standings):
    held.standings = standings
    with pytest.raises(KaggleError, match="none with a score"):
        fetch_leaderboard(client, dataset)


def test_a_rate_limit_is_waited_out_then_told_and_nothing_is_lost(client, kaggle, held, dataset, pauses, tmp_path):
    kaggle.fail("DownloadLeaderboard", Fault.answer(429, retry_after="7"))
    fetch_leaderboard(client, dataset)
    assert pauses == [7]
    before = dataset.leaderboard_path.read_bytes()
    kaggle.fail("DownloadLeaderboard", Fault.answer(429), times=9)
    with pytest.raises(RateLimited):
        fetch_leaderboard(client, dataset)
    assert dataset.leaderboard_path.read_bytes() == before
    kaggle.recover()
    kaggle.fail("DownloadLeaderboard", Fault.answer(429), times=9)
    others = [Dataset(catalog.get(name), tmp_path) for name in (NAME, LOWER)]
    problems = fetch_leaderboards(others, client=client)
    assert list(problems) == [NAME, LOWER]
    assert all("too many requests" in problem for problem in problems.values())
    assert not kaggle.calls("GetLeaderboard")  # the second was not even tried: the first pause is for all


def test_one_that_fails_does_not_stop_the_others(client, kaggle, held, tmp_path):
    others = [Dataset(catalog.get(name), tmp_path) for name in (LOWER, NAME)]
    problems = fetch_leaderboards(others, client=client)
    assert list(problems) == [LOWER]
    assert "HTTP 404" in problems[LOWER]
    assert others[1].leaderboard.is_exact


def changed(held):
    """Kaggle removes thirty teams, among them those that stood at the thresholds."""
    removed = {3, 8, *(position - 1 for position in medal_positions(2288).values()), *range(0, 2288, 100)}
    held.standings = [each for place, each in enumerate(held.standings) if place not in removed]
    return held


def test_thresholds_stay_the_published_ones_and_the_difference_is_told(client, held, dataset, mlebench):
    changed(held)
    facts = fetch_leaderboard(client, dataset)
    assert {"teams", "gold"} <= facts["differences"].keys()
    assert ENOUGH <= facts["agreement"] < 1
    published, board = dataset.competition.leaderboard, dataset.leaderboard
    thresholds = ("gold", "silver", "bronze", "median")
    assert [getattr(board, name) for name in thresholds] == [getattr(published, name) for name in thresholds]
    assert board.teams == len(held.standings) < published.teams
    best = float(held.standings[0][1])
    report = make_report(
        dataset.competition, best, submission_exists=True, submission_path="", source="local", board=board
    )
    assert (report.rank, report.num_teams, report.gold_threshold) == (1, board.teams, 0.82066)
    shown = mlebench("leaderboard", NAME, "--data-dir", dataset.data_dir)
    assert "WARNING: spaceship-titanic: Kaggle's leaderboard is no longer the published one" in shown.stderr
    assert f"teams {board.teams:,} instead of 2,288" in shown.stderr
    assert "ranks: exact" in shown.stdout
    assert "0.82066      place 14 or better" in shown.stdout


def test_more_digits_are_no_difference(client, held, dataset):
    held.standings = [(team, f"{float(score) + 0.0000023:.7f}") for team, score in held.standings]
    facts = fetch_leaderboard(client, dataset)
    assert (facts["agreement"], facts["differences"]) == (1, {})
    assert dataset.leaderboard.gold == 0.82066


def test_an_unpublished_competition_takes_what_there_is(client, kaggle, tmp_path):
    folder = tmp_path / "own" / "my-own"
    folder.mkdir(parents=True)
    for path in catalog.get(NAME).folder.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    dataset = Dataset(catalog.get("my-own", (folder.parent,)), tmp_path)
    assert dataset.leaderboard is None
    assert describe_leaderboard(dataset)["kind"] is None
    kaggle.add("my-own", b"", standings=[("a", "0.9"), ("b", "0.5"), ("c", "0.1")])
    assert fetch_leaderboard(client, dataset)["agreement"] is None
    assert (dataset.leaderboard.gold, dataset.leaderboard.median, dataset.leaderboard.rank(0.5)) == (0.9, 0.5, 2)


@pytest.mark.parametrize("name", catalog.competitions())
def test_how_well_another_leaderboard_agrees(name):
    board = catalog.get(name).leaderboard
    assert board is not None
    scores = board.expanded()
    assert agreement(board, scores) == 1
    assert agreement(board, scores, slack=0) == 1
    rng = random.Random(0)
    rest = [score for score in scores if rng.random() > 0.05]
    assert agreement(board, rest) >= ENOUGH  # some teams were removed
    assert agreement(board, scores[: len(scores) // 3]) < ENOUGH
    public = [score * (1 + rng.gauss(0, 0.003)) for score in scores]
    digits = max(len(repr(score).partition(".")[2]) for score in board.scores)
    assert agreement(board, [round(score, min(digits, 5)) for score in public], slack=0) < 1


# --- who uses it


@pytest.fixture
def twin(twins, tmp_path):
    """A prepared twin, in a data directory of this test's own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / NAME).mkdir()
    (tmp_path / "data" / NAME / "prepared").symlink_to(twins(NAME).prepared)
    return Dataset(catalog.get(NAME), tmp_path / "data")


def test_grades_say_what_their_ranks_are(client, held, twin):
    before = grade(twin.sample_submission, twin)
    assert (before.rank_kind, before.leaderboard_md5) == ("estimated", "")
    facts = fetch_leaderboard(client, twin)
    after = grade(twin.sample_submission, twin)
    assert (after.rank_kind, after.leaderboard_md5) == ("exact", facts["md5"])
    assert all(not isinstance(value, dict | list) for value in after.to_dict().values())
    better = sum(float(score) > after.score for _, score in held.standings)
    assert after.rank == better + 1
    same = dataclasses.replace(
        after, rank=before.rank, percentile=before.percentile, rank_kind="estimated", leaderboard_md5=""
    )
    assert dataclasses.replace(same, created_at=before.created_at) == before
    assert grade(None, twin).rank_kind is None


def test_v1s_interface_without_and_with_the_file(client, held, twin, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = Registry(twin.data_dir).get_competition(NAME)
    assert "interpolated" in before.leaderboard.name
    report = grade_csv(before.sample_submission, before)
    assert report.rank_kind == "estimated"
    fetch_leaderboard(client, twin)
    after = Registry(twin.data_dir).get_competition(NAME)
    assert "interpolated" not in after.leaderboard.name
    assert get_leaderboard(after)["score"].tolist() == [float(score) for _, score in held.standings]
    thresholds = [f"{name}_threshold" for name in ("gold", "silver", "bronze", "median")]
    for competition in (before, after):  # also one that was made before
        again = grade_csv(competition.sample_submission, competition)
        assert again.rank_kind == "exact"
        assert [getattr(again, name) for name in thresholds] == [getattr(report, name) for name in thresholds]
    after.leaderboard.unlink()
    assert len(ensure_leaderboard_exists(after, force=True).read_text().splitlines()) == 2289


def test_clients_find_the_published_medals_where_the_fetched_ones_are_others(client, held, twin, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fetch_leaderboard(client, twin) if changed(held) else None
    competition = Registry(twin.data_dir).get_competition(NAME)
    assert "interpolated" in competition.leaderboard.name
    ranked = competition.grader.rank_score(0.82066, get_leaderboard(competition))
    assert ranked["gold_medal"]
    assert ranked["gold_threshold"] == 0.82066
    assert grade_csv(competition.sample_submission, competition).num_teams == len(held.standings)


@pytest.mark.parametrize("content", ["team\na\n", "score\n", "score\nx\n", "score\nnan\n", "score\n\xff\n"])
def test_a_damaged_file_is_named(twin, content, mlebench):
    twin.leaderboard_path.write_text(content, encoding="latin-1")
    with pytest.raises(UsageError, match=r"leaderboard\.csv is no leaderboard.*--fetch --force"):
        grade(twin.sample_submission, twin)
    assert "is no leaderboard" in mlebench("leaderboard", NAME, "--data-dir", twin.data_dir, code=1).stderr


# --- the commands


@pytest.fixture
def account(kaggle, monkeypatch):
    for name, value in kaggle.environment.items():
        monkeypatch.setenv(name, value)


def test_fetch_and_show(mlebench, kaggle, account, held, tmp_path):
    data = ("--data-dir", tmp_path)
    assert "ranks: estimated from 219 places" in mlebench("leaderboard", NAME, *data).stdout
    (facts,) = json.loads(mlebench("leaderboard", NAME, "--fetch", *data, "--json").stdout)
    assert (facts["kind"], facts["source"], facts["is_as_fetched"]) == ("exact", "fetched", True)
    assert facts["medals"]["gold"] == {"score": 0.82066, "position": 14}
    count = len(kaggle.requests)
    assert "ranks: exact, by " in mlebench("leaderboard", "-c", NAME, "--fetch", *data).stdout
    assert len(kaggle.requests) == count  # it is there
    mlebench("leaderboard", NAME, "--fetch", "--force", *data)
    assert len(kaggle.requests) > count
    path = Path(facts["path"])
    path.write_text(path.read_text().replace("0.82815", "0.99"))
    assert "changed after it was fetched" in mlebench("leaderboard", NAME, *data).stderr


def test_several_of_which_one_fails(mlebench, account, held, tmp_path):
    shown = mlebench("leaderboard", NAME, LOWER, "--fetch", "--data-dir", tmp_path, code=1)
    assert "HTTP 404" in shown.stderr
    assert shown.stdout.count("ranks: exact") == shown.stdout.count("ranks: estimated") == 1


def test_v1s_command(mlebench, kaggle, account, held, tmp_path):
    arguments = ("dev", "download-leaderboard", "-c", NAME, "--data-dir", tmp_path)
    assert "ranks: exact" in mlebench(*arguments).stdout
    count = len(kaggle.requests)
    mlebench(*arguments, "--force")
    assert len(kaggle.requests) > count


def test_without_an_account_or_a_name(mlebench, tmp_path):
    assert "credentials" in mlebench("leaderboard", NAME, "--fetch", "--data-dir", tmp_path, code=2).stderr
    assert "no competition is named" in mlebench("leaderboard", code=2).stderr
