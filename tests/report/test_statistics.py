import math
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.errors import ENDS
from mlebench.report import statistics
from mlebench.report.results import read_run


def splits_of(run, padded=False):
    return {split.name: split for split in statistics.by_split(read_run(run), padded)}


# The board of `own` has the scores 1 to 100: gold from 91, silver from 81, bronze from 61, median 50.5.
GOLD, SILVER, BRONZE, ABOVE, BELOW = 95, 85, 65, 55, 10


@pytest.mark.parametrize(
    ("percent", "attempts", "error"),
    [(16.9, 1200, 1.08), (98.4, 1200, 0.36), (82.8, 1200, 1.09), (29.4, 1200, 1.32), (8.7, 36 * 75, 0.54)],
)
def test_the_pooled_error_is_the_papers(percent, attempts, error):
    assert round(100 * statistics.pooled_binomial_error(percent / 100, attempts), 2) == error


@pytest.mark.parametrize(("share", "attempts"), [(-0.1, 5), (1.1, 5), (0.5, 0)])
def test_the_pooled_error_refuses_what_is_no_share(share, attempts):
    with pytest.raises(ValueError, match="a share from 0 to 1"):
        statistics.pooled_binomial_error(share, attempts)


def test_mean_and_sem_by_hand():
    # Deviations -0.1, 0, 0.1: variance 0.02/2 with ddof 1, over 3 values.
    mean, sem = statistics.mean_and_sem([0.1, 0.2, 0.3])
    assert mean == pytest.approx(0.2)
    assert sem == pytest.approx(sqrt(0.01 / 3))
    assert statistics.mean_and_sem([0.4]) == (0.4, None)
    assert statistics.mean_and_sem([]) == (None, None)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_formula(case):
    n, c, k = case
    assert statistics.pass_at_k(n, c, k) == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)


def test_pass_at_k_survives_numbers_whose_binomials_are_no_floats():
    assert statistics.pass_at_k(100_000, 1, 50_000) == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1)])
def test_pass_at_k_refuses_what_is_undefined(n, c, k):
    with pytest.raises(ValueError, match="undefined"):
        statistics.pass_at_k(n, c, k)


def test_rates_by_hand(own, make_run):
    own("a"), own("b")
    run = make_run(
        {
            ("a", 0): {"score": GOLD},
            ("a", 1): {"score": SILVER},
            ("a", 2): {"score": BELOW},
            ("b", 0): {"score": BRONZE},
            ("b", 1): {"score": ABOVE},
            ("b", 2): {"score": None, "reason": "nothing", "exists": False},
        }
    )
    low = splits_of(run)["low"]
    any_medal = low.headline
    # Seeds: 2/2, 1/2, 0/2.
    assert any_medal.mean == pytest.approx(0.5)
    assert any_medal.sem == pytest.approx(0.5 / sqrt(3))
    assert any_medal.seeds == 3
    assert any_medal.pooled == pytest.approx(3 / 6)
    assert any_medal.pooled_error == pytest.approx(sqrt(0.25 / 6))
    expected = {"gold": 1 / 6, "silver": 1 / 6, "bronze": 1 / 6, "above_median": 4 / 6, "valid_submission": 5 / 6}
    for name, rate in {**expected, "made_submission": 5 / 6}.items():
        assert low.estimate(name).mean == pytest.approx(rate), name
    # Of 100 teams with scores 1 to 100: as many per cent as the score; nobody is worse than no submission.
    percentile = low.estimate("percentile")
    assert percentile.mean == pytest.approx((0.95 + 0.85 + 0.10 + 0.65 + 0.55 + 0) / 6)
    assert percentile.pooled_error is None
    # a has 2 of 3, b 1 of 3.
    values = {k: low.pass_at(k).value for k in (1, 2, 3)}
    assert values == pytest.approx({1: (2 / 3 + 1 / 3) / 2, 2: (1 + 2 / 3) / 2, 3: 1.0})
    assert low.pass_at(1).sem == pytest.approx(np.std([2 / 3, 1 / 3], ddof=1) / sqrt(2))
    assert low.pass_at(4) is None


def test_one_seed_has_no_error_over_seeds(own, make_run):
    own("a")
    headline = splits_of(make_run({("a", 0): {"score": GOLD}}))["low"].headline
    assert (headline.mean, headline.sem, headline.pooled_error) == (1.0, None, 0.0)


def test_splits(own, make_run):
    levels = {"a": "low", "b": "low", "c": "medium", "d": "dev"}
    for name, level in levels.items():
        own(name, level)
    scores = {"a": GOLD, "b": BELOW, "c": BELOW, "d": GOLD}
    run = make_run({(name, 0): {"score": score} for name, score in scores.items()})
    splits = splits_of(run)
    assert list(splits) == ["all", "low", "medium", "dev"]
    rates = {name: split.headline.mean for name, split in splits.items()}
    assert rates == pytest.approx({"all": 1 / 3, "low": 1 / 2, "medium": 0, "dev": 1})
    assert statistics.headline_split(list(splits.values())).name == "all"


def test_the_headline_is_of_the_one_split_that_was_run(own, make_run):
    own("a", "medium")
    splits = splits_of(make_run({("a", 0): {"score": GOLD}}))
    assert list(splits) == ["all", "medium"]
    assert statistics.headline_split(list(splits.values())).name == "medium"
    assert statistics.headline_split([]) is None


@pytest.mark.parametrize("end", [name for name, end in ENDS.items() if not end.counts])
def test_what_is_not_the_agents_doing_is_left_out_and_shown(own, make_run, end):
    own("a"), own("b")
    run = make_run(
        {
            ("a", 0): {"score": GOLD},
            ("b", 0): {"end": end},
            ("a", 1): {"score": GOLD},
            ("b", 1): {"score": BELOW},
        }
    )
    low = splits_of(run)["low"]
    assert low.headline.mean == pytest.approx((1 + 1 / 2) / 2)
    assert (low.headline.total, low.headline.attempts) == (2, 3)
    assert low.not_counted == {end: 1}
    assert (low.counted, low.planned, low.incomplete_seeds, low.unfinished_seeds) == (3, 4, (0,), ())
    assert low.pass_at(2).competitions == 1
    padded = splits_of(run, padded=True)["low"]
    assert padded.headline.mean == pytest.approx(1 / 2)
    assert padded.headline.attempts == 4
    assert padded.not_counted == {end: 1}
    assert padded.pass_at(2).competitions == 2


@pytest.mark.parametrize("end", [name for name, end in ENDS.items() if end.counts])
def test_what_is_the_agents_doing_counts(own, make_run, end):
    own("a")
    low = splits_of(make_run({("a", 0): {"score": GOLD, "end": end}, ("a", 1): {"score": None, "end": end}}))["low"]
    assert low.headline.mean == pytest.approx(0.5)
    assert not low.not_counted


@pytest.mark.parametrize("waiting", [None, {"state": "running", "end": None}, {"state": "pending", "end": None}, {}])
def test_a_seed_that_still_runs_is_not_in_the_mean(own, make_run, waiting):
    own("a"), own("b")
    run = make_run(
        {("a", 0): {"score": BELOW}, ("b", 0): {"score": GOLD}, ("a", 1): {"score": GOLD}, ("b", 1): waiting}
    )
    low = splits_of(run)["low"]
    assert (low.headline.mean, low.headline.sem, low.headline.seeds) == (0.5, None, 1)
    assert low.headline.pooled == pytest.approx(2 / 3)
    assert (low.to_come, low.incomplete_seeds, low.unfinished_seeds) == (1, (1,), (1,))
    padded = splits_of(run, padded=True)["low"]
    assert padded.headline.mean == pytest.approx(0.5)
    assert padded.headline.seeds == 2
    assert padded.padded


def test_no_finished_attempt_has_no_rate(own, make_run):
    own("a")
    low = splits_of(make_run({("a", 0): None, ("a", 1): {"state": "running", "end": None}}))["low"]
    assert all(estimate.mean is None and estimate.pooled is None for estimate in low.estimates)
    assert (low.pass_at_k, low.to_come) == ((), 2)


def test_without_a_leaderboard_there_is_no_medal_to_miss(own, make_run):
    own("a"), own("b", scores=None)
    low = splits_of(make_run({("a", 0): {"score": GOLD}, ("b", 0): {"score": 0.5}}))["low"]
    assert low.headline.mean == 1.0
    assert low.headline.attempts == 1
    assert low.estimate("valid_submission").attempts == 2
    assert low.without_humans == ("b",)
    assert low.pass_at(1).competitions == 1


def test_every_measure_is_a_share_and_every_number_finite(own, make_run):
    own("a")
    run = make_run({("a", seed): {"score": score} for seed, score in enumerate([GOLD, math.inf, -math.inf, None])})
    for split in splits_of(run).values():
        for estimate in split.estimates:
            assert 0 <= estimate.mean <= 1, estimate.name
            assert math.isfinite(estimate.sem), estimate.name
