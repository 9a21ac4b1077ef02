"""The human private leaderboards: medal rules, medal table, rank among humans."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from mlebench.errors import UsageError

MEDALS = ("gold", "silver", "bronze")
THRESHOLDS = (*MEDALS, "median")
FIGURES = ("teams", *THRESHOLDS)
_FILE = Path(__file__).parent / "leaderboards.jsonl"


def medal_positions(teams: int) -> dict[str, int]:
    """The last position, from 1, that earns each medal among `teams` teams (Kaggle's rules, fractions cut).

    >>> medal_positions(2288)
    {'gold': 14, 'silver': 114, 'bronze': 228}
    >>> medal_positions(4)
    {'gold': 1, 'silver': 1, 'bronze': 1}
    """
    if teams < 100:
        return {"gold": max(1, teams // 10), "silver": max(1, teams // 5), "bronze": max(1, 2 * teams // 5)}
    if teams < 250:
        return {"gold": 10, "silver": teams // 5, "bronze": 2 * teams // 5}
    gold = 10 + teams // 500
    if teams < 1000:
        return {"gold": gold, "silver": 50, "bronze": 100}
    return {"gold": gold, "silver": teams // 20, "bronze": teams // 10}


@dataclass(frozen=True)
class Leaderboard:
    """A private leaderboard by its thresholds and its scores at selected ranks (1 … teams, ascending)."""

    teams: int
    lower_is_better: bool
    gold: float
    silver: float
    bronze: float
    median: float
    ranks: tuple[int, ...]
    scores: tuple[float, ...]
    md5: str = ""  # of the file with a row for each team, if it comes from one

    @property
    def is_exact(self) -> bool:
        """Whether the score of every team is known, so that no rank is estimated."""
        return len(self.ranks) == self.teams

    def medal(self, score: float) -> str | None:
        """The medal that `score` earns: it is at least as good as the threshold; None if there is none."""
        for name in MEDALS:
            if not self.better(getattr(self, name), score):
                return name
        return None

    def better(self, score: float, other: float) -> bool:
        """Whether `score` is strictly better than `other`."""
        return score < other if self.lower_is_better else score > other

    def rank(self, score: float) -> int:
        """The place of `score` among the humans: one more than the number of better teams.

        Exact at known ranks, estimated as linear between them; teams + 1 if it is worse than the last.
        """
        ranks, ascending = self._known_ascending
        value = score if self.lower_is_better else -score
        place = bisect_left(ascending, value)
        if self.is_exact:
            return place + 1
        if place == len(ranks):
            return self.teams + 1
        if place == 0:
            return 1
        share = (value - ascending[place - 1]) / (ascending[place] - ascending[place - 1])
        first, last = ranks[place - 1], ranks[place]
        # All teams up to rank `first` are better; of those between, the share is estimated.
        return first + max(1, round(share * (last - first)))

    def percentile(self, score: float) -> float:
        """Share of the teams, 0 to 1, that `score` is at least as good as; estimated if ranks are."""
        return (self.teams + 1 - self.rank(score)) / self.teams

    def expanded(self) -> list[float]:
        """A score for each team in rank order: known ranks, medal positions and median exactly, linear between."""
        import numpy as np

        known = self._known_scores()
        ranks = sorted(known)
        return np.interp(np.arange(1, self.teams + 1), ranks, [known[rank] for rank in ranks]).tolist()

    def _known_scores(self) -> dict[int, float]:
        """Score by rank: the known ranks, the thresholds at their positions, and the median in the middle."""
        known = dict(zip(self.ranks, self.scores, strict=True))
        for name, position in medal_positions(self.teams).items():
            known.setdefault(position, getattr(self, name))
        upper, lower = (self.teams + 1) // 2, self.teams // 2 + 1  # one rank if the number of teams is odd
        for one, other in ((upper, lower), (lower, upper)):
            if one in known:
                known.setdefault(other, _mirrored(known[one], self.median))
        known.setdefault(upper, self.median)
        known.setdefault(lower, self.median)
        return known

    @cached_property
    def _known_ascending(self) -> tuple[list[int], list[float]]:
        """Known ranks and their scores, with the sign that makes them ascend."""
        known = sorted(self._known_scores().items())
        sign = 1 if self.lower_is_better else -1
        return [rank for rank, _ in known], [sign * score for _, score in known]


def _mirrored(score: float, median: float) -> float:
    """The number as far beyond `median`, without the digits that subtracting adds if the mean is exact so, too."""
    exact = 2 * median - score
    short = round(exact, 9)
    return short if (score + short) / 2 == median else exact


def leaderboard_of_scores(scores: Sequence[float], lower_is_better: bool, md5: str = "") -> Leaderboard:
    """A leaderboard from the score of every team, in any order."""
    ordered = sorted(scores, reverse=not lower_is_better)
    positions = medal_positions(len(ordered))
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Leaderboard(
        teams=len(ordered),
        lower_is_better=lower_is_better,
        median=median,
        ranks=tuple(range(1, len(ordered) + 1)),
        scores=tuple(ordered),
        md5=md5,
        **{name: ordered[position - 1] for name, position in positions.items()},
    )


def find_leaderboard(competition_id: str, folder: Path, lower_is_better: bool) -> Leaderboard | None:
    """The leaderboard of a competition: `leaderboard.csv` in its folder (a column `score`), else the built-in one."""
    own = folder / "leaderboard.csv"
    if own.is_file():
        from mlebench.tables import read_csv

        scores = read_csv(own)["score"].dropna().tolist()
        return leaderboard_of_scores(scores, lower_is_better, _md5(own.read_bytes())) if scores else None
    facts = _built_in().get(competition_id)
    if facts is None:
        return None
    points = facts["points"]
    thresholds = {key: facts[key] for key in ("lower_is_better", *FIGURES)}
    return Leaderboard(**thresholds, ranks=tuple(points[::2]), scores=tuple(points[1::2]))


def with_ranks_of(path: Path, published: Leaderboard | None, lower_is_better: bool) -> Leaderboard:
    """The leaderboard with the score of every team from the file `path`, so that ranks are exact.

    Thresholds stay the `published` ones, to which results are compared, even where the file has others: Kaggle
    removes teams now and then. Raises UsageError if the file is none with a column `score`.
    """
    facts = path.stat()
    lower = published.lower_is_better if published else lower_is_better
    found = _read_whole(path, facts.st_mtime_ns, facts.st_size, lower)
    return replace(found, **{name: getattr(published, name) for name in THRESHOLDS}) if published else found


def differences(published: Leaderboard, scores: Sequence[float]) -> dict[str, tuple[float, float]]:
    """What `scores` of all teams give otherwise than published: teams, gold, silver, bronze, median.

    Each as published and as found; what agrees in the five decimals of a result is no difference.
    """
    found = leaderboard_of_scores(scores, published.lower_is_better)
    pairs = {name: (getattr(published, name), getattr(found, name)) for name in FIGURES}
    return {name: pair for name, pair in pairs.items() if not math.isclose(*pair, rel_tol=1e-9, abs_tol=tolerance(0))}


def tolerance(score: float) -> float:
    """By how much scores may differ that are the same, one with more digits: results have five decimals.

    >>> abs(0.82066 - 0.8206557) <= tolerance(0.82066), abs(0.82066 - 0.82067) <= tolerance(0.82066)
    (True, False)
    """
    return max(0.5000001e-5, 1e-9 * abs(score))


@lru_cache(maxsize=256)
def _read_whole(path: Path, modified: int, size: int, lower_is_better: bool) -> Leaderboard:
    """The leaderboard in a file; read again when its time or size is another."""
    del modified, size
    way_out = "remove it, or fetch it again: mlebench leaderboard ID --fetch --force"
    content = path.read_bytes()
    try:
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
        scores = [float(row["score"]) for row in rows if row["score"]]
    except (KeyError, ValueError, csv.Error) as error:
        reason = "it has no column score" if isinstance(error, KeyError) else error
        raise UsageError(f"{path} is no leaderboard: {reason}; {way_out}") from error
    if not scores or any(map(math.isnan, scores)):
        raise UsageError(f"{path} is no leaderboard: a score is missing, or all are; {way_out}")
    return leaderboard_of_scores(scores, lower_is_better, _md5(content))


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@lru_cache(maxsize=1)
def _built_in() -> dict[str, dict[str, Any]]:
    with _FILE.open(encoding="utf-8") as file:
        return {facts["id"]: facts for facts in map(json.loads, file)}
