"""Rates over attempts with their errors, by split. Every interval has a name and a method.

Rates are means over seeds ± one standard error of the mean over seeds (ddof 1): the competitions are taken as
given, the seeds as a sample. The paper pools all attempts and takes the binomial error instead; it is offered
as `pooled`. Attempts that ended through no doing of the agent are left out of rates and reported beside them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlebench.grading import GradeReport

if TYPE_CHECKING:
    from mlebench.report.results import RunResults

FloatArray: TypeAlias = NDArray[np.float64]

OVER_SEEDS = "mean over seeds ± one standard error of the mean over seeds (ddof 1)"
POOLED = "share of all attempts ± √(p(1−p)/N), the pooled binomial error of the paper"
OVER_COMPETITIONS = "unbiased estimate, mean over competitions ± one standard error of that mean (ddof 1)"
UNLISTED = "unlisted"


@dataclass(frozen=True)
class Measure:
    """Something measured on each attempt, from 0 to 1; the rate is its mean."""

    name: str
    title: str
    value: Callable[[GradeReport], float]
    needs_humans: bool = True  # undefined for a competition without leaderboard
    is_share: bool = True  # each attempt has it or not, so a binomial error makes sense


def _percentile(grade: GradeReport) -> float:
    """The percentile; 0 without a valid submission, which is better than nobody's."""
    if grade.percentile is None:
        return math.nan if grade.valid_submission else 0.0
    return grade.percentile


MEASURES = (
    Measure("any_medal", "any medal", lambda grade: grade.any_medal),
    Measure("gold", "gold", lambda grade: grade.gold_medal),
    Measure("silver", "silver", lambda grade: grade.silver_medal),
    Measure("bronze", "bronze", lambda grade: grade.bronze_medal),
    Measure("above_median", "above median", lambda grade: grade.above_median),
    Measure("valid_submission", "valid submission", lambda grade: grade.valid_submission, needs_humans=False),
    Measure("made_submission", "made a submission", lambda grade: grade.submission_exists, needs_humans=False),
    Measure("percentile", "mean percentile", _percentile, is_share=False),
)


@dataclass(frozen=True)
class Estimate:
    """A rate, from 0 to 1. `mean` and `sem` are over `seeds` seeds; `total` of `attempts` is the pooled rate."""

    name: str
    title: str
    mean: float | None
    sem: float | None
    seeds: int
    total: float
    attempts: int
    is_share: bool = True

    @property
    def pooled(self) -> float | None:
        """The mean over all attempts, whatever their seed; None if there are none."""
        return self.total / self.attempts if self.attempts else None

    @property
    def pooled_error(self) -> float | None:
        """The paper's binomial error of `pooled`; None if there are no attempts or the measure is no share."""
        if self.pooled is None or not self.is_share:
            return None
        return pooled_binomial_error(self.pooled, self.attempts)


@dataclass(frozen=True)
class PassAtK:
    """The chance that at least one of `k` attempts earns a medal, over the competitions with at least k attempts."""

    k: int
    value: float
    sem: float | None  # over competitions
    competitions: int


@dataclass(frozen=True)
class SplitStatistics:
    """All the numbers of one split, as far as the run has its competitions."""

    name: str
    competitions: tuple[str, ...]
    size: int  # competitions of the split in the catalog
    seeds: tuple[int, ...]
    planned: int  # attempts
    counted: int
    to_come: int
    not_counted: dict[str, int]  # by end
    incomplete_seeds: tuple[int, ...]  # with an attempt that does not count, or not yet
    unfinished_seeds: tuple[int, ...]  # with attempts to come: left out of the means over seeds unless padded
    without_humans: tuple[str, ...]  # competitions without leaderboard: left out of medals, median and percentile
    padded: bool
    synthetic: bool
    estimates: tuple[Estimate, ...]
    pass_at_k: tuple[PassAtK, ...]

    def estimate(self, name: str) -> Estimate:
        """The estimate of the measure with this name."""
        return next(estimate for estimate in self.estimates if estimate.name == name)

    def pass_at(self, k: int) -> PassAtK | None:
        """The estimate for `k` attempts; None if no competition has as many."""
        return next((each for each in self.pass_at_k if each.k == k), None)

    @property
    def headline(self) -> Estimate:
        """The share of attempts with any medal."""
        return self.estimate("any_medal")


def mean_and_sem(values: Sequence[float] | FloatArray) -> tuple[float | None, float | None]:
    """The mean and its standard error (ddof 1); the error is None for one value, both are for none.

    >>> mean_and_sem([0.25, 0.5, 0.75, 0.5])
    (0.5, 0.10206207261596575)
    >>> mean_and_sem([0.5])
    (0.5, None)
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        return None, None
    if len(array) == 1:
        return float(array[0]), None
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def pooled_binomial_error(share: float, attempts: int) -> float:
    """√(p(1−p)/N): the error of the paper's Table 2, which takes all attempts as independent.

    Raises ValueError unless 0 ≤ share ≤ 1 and attempts ≥ 1.

    >>> round(100 * pooled_binomial_error(0.169, 1200), 2)
    1.08
    """
    if not 0 <= share <= 1 or attempts < 1:
        raise ValueError(f"a share from 0 to 1 of at least one attempt is needed, not {share} of {attempts}")
    return math.sqrt(share * (1 - share) / attempts)


def pass_at_k(attempts: int, successes: int, k: int) -> float:
    """1 − C(n−c, k)/C(n, k): the unbiased chance that one of `k` attempts succeeds, given c of n did.

    Raises ValueError unless 1 ≤ k ≤ n and 0 ≤ c ≤ n. Source: Chen et al. 2021 (arXiv 2107.03374), section 2.1.

    >>> round(pass_at_k(4, 1, 2), 12)
    0.5
    """
    failures = attempts - successes
    if not 1 <= k <= attempts or not 0 <= successes <= attempts:
        raise ValueError(f"pass@{k} is undefined for {successes} successes in {attempts} attempts")
    if failures < k:
        return 1.0
    if successes == 0:
        return 0.0
    log_ratio = _log_choose(failures, k) - _log_choose(attempts, k)
    return -math.expm1(log_ratio)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def by_split(results: RunResults, padded: bool = False) -> list[SplitStatistics]:
    """The numbers of each split that the run has competitions of.

    Order: all, low, medium, high, dev, and last the ids that the catalog does not know ("unlisted", in no other).
    `padded`: attempts that don't count or are to come are taken as failures.
    """
    known = results.catalog
    complexity = {each: known[each].complexity if each in known else UNLISTED for each in results.competitions}
    sizes = Counter(competition.complexity for competition in known.values())
    found = []
    for name in ("all", "low", "medium", "high", "dev", UNLISTED):
        levels = {"low", "medium", "high"} if name == "all" else {name}
        ids = tuple(each for each, level in complexity.items() if level in levels)
        if ids:
            found.append(split_statistics(results, name, ids, sum(sizes[level] for level in levels), padded))
    return found


def headline_split(splits: Sequence[SplitStatistics]) -> SplitStatistics | None:
    """The split that the run is about: "all", or the smaller one if the run has no other competitions."""
    same = [each for each in splits if each.competitions == splits[0].competitions]
    return min(same, key=lambda each: each.size, default=None)


def widest(splits: Sequence[SplitStatistics]) -> list[SplitStatistics]:
    """The splits that no earlier one contains: what is to be said about them holds for their parts."""
    contained = {competition for split in splits if split.name == "all" for competition in split.competitions}
    return [split for split in splits if split.name == "all" or not contained.issuperset(split.competitions)]


def split_statistics(
    results: RunResults, name: str, ids: tuple[str, ...], size: int, padded: bool = False
) -> SplitStatistics:
    """The numbers over the competitions `ids`, called `name`; see `by_split`."""
    attempts = [[results.attempt(competition, seed) for competition in ids] for seed in results.seeds]
    counts = np.array([[attempt.counts for attempt in row] for row in attempts])
    to_come = np.array([[attempt.to_come for attempt in row] for row in attempts])
    left_out = [attempt for row in attempts for attempt in row if not attempt.counts and not attempt.to_come]
    unfinished, complete = np.any(to_come, axis=1), np.all(counts, axis=1)
    used = np.ones_like(unfinished) if padded else ~unfinished
    tables = {measure.name: _values(results, ids, measure, padded) for measure in MEASURES}
    return SplitStatistics(
        name=name,
        competitions=ids,
        size=size,
        seeds=results.seeds,
        planned=counts.size,
        counted=int(counts.sum()),
        to_come=int(to_come.sum()),
        not_counted=dict(Counter(attempt.status for attempt in left_out)),
        incomplete_seeds=_where(~complete, results.seeds),
        unfinished_seeds=_where(unfinished, results.seeds),
        without_humans=tuple(competition for competition in ids if not results.has_medals(competition)),
        padded=padded,
        synthetic=any(map(results.is_synthetic, ids)),
        estimates=tuple(_estimate(measure, tables[measure.name], used) for measure in MEASURES),
        pass_at_k=tuple(_pass_at_k(tables["any_medal"])),
    )


def _values(results: RunResults, ids: tuple[str, ...], measure: Measure, padded: bool) -> FloatArray:
    """The measure of each attempt, shape (seeds, competitions); nan where there is none to count."""
    values = np.full((len(results.seeds), len(ids)), np.nan)
    for column, competition in enumerate(ids):
        if measure.needs_humans and not results.has_medals(competition):
            continue
        for row, seed in enumerate(results.seeds):
            attempt = results.attempt(competition, seed)
            if attempt.counts and attempt.grade is not None:
                values[row, column] = measure.value(attempt.grade)
            elif padded:
                values[row, column] = 0.0
    return values


def _estimate(measure: Measure, values: FloatArray, used: NDArray[np.bool_]) -> Estimate:
    present = ~np.isnan(values)
    sums, numbers = np.nansum(values, axis=1), present.sum(axis=1)
    rows = used & (numbers > 0)
    mean, sem = mean_and_sem(sums[rows] / numbers[rows])
    return Estimate(
        name=measure.name,
        title=measure.title,
        mean=mean,
        sem=sem,
        seeds=int(rows.sum()),
        total=float(sums.sum()),
        attempts=int(numbers.sum()),
        is_share=measure.is_share,
    )


def _pass_at_k(medals: FloatArray) -> list[PassAtK]:
    numbers, hits = (~np.isnan(medals)).sum(axis=0), np.nansum(medals, axis=0)
    found = []
    for k in range(1, int(numbers.max(initial=0)) + 1):
        values = [pass_at_k(int(n), int(c), k) for n, c in zip(numbers, hits, strict=True) if n >= k]
        mean, sem = mean_and_sem(values)
        if mean is not None:
            found.append(PassAtK(k, mean, sem, len(values)))
    return found


def _where(flags: NDArray[np.bool_], seeds: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(seed for seed, flag in zip(seeds, flags, strict=True) if flag)
