"""The whole private leaderboard of a competition, from Kaggle into the data directory.

<data-dir>/<id>/leaderboard.csv    rank, team_id, team, score, submitted: each team that has a score, best first
               /leaderboard.json   when and how it came, its MD5, and how it agrees with the published one

It is there in two forms, neither of which says whether it is the private or the public one: a zip, which is one call,
and the pages of a list, which should be the private one once a competition is over. So what comes is compared with the
scores that are known of the published one, and the list is left out only where the zip is just that.
"""

from __future__ import annotations

import csv
import hashlib
import io
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.dataset import Dataset
from mlebench.files import write_text
from mlebench.leaderboard import FIGURES, Leaderboard, differences, medal_positions, tolerance
from mlebench.preparation.kaggle.errors import KaggleError, Transient
from mlebench.preparation.kaggle.kept import fetch_each, read_facts, write_facts
from mlebench.preparation.kaggle.standings import NotUnderstood, Team, teams_of_list, teams_of_zip

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.client import Client

ENOUGH = 0.8  # share of the published places that must be found again
_ROUTES: dict[str, Callable[[Client, str], list[Team]]] = {
    "zip": lambda client, competition: teams_of_zip(client.leaderboard_zip(competition)),
    "list": lambda client, competition: teams_of_list(client.leaderboard(competition)),
}


@dataclass(frozen=True)
class _Found:
    """What came on one of the routes, and how far it is the published one; None where nothing is published."""

    route: str
    teams: list[Team]
    agreement: float | None
    differences: dict[str, tuple[float, float]]
    is_the_published_one: bool

    @property
    def scores(self) -> list[float]:
        return _scores(self.teams)


def facts_path(dataset: Dataset) -> Path:
    """The file beside the fetched leaderboard that says where it is from."""
    return dataset.leaderboard_path.with_suffix(".json")


def fetch_leaderboard(client: Client, dataset: Dataset) -> dict[str, Any]:
    """Fetch the private leaderboard, in place of one that is there; what leaderboard.json says of it then.

    Raises a KaggleError if Kaggle gives none, or none that can be the private one.
    """
    competition = dataset.competition
    published = competition.leaderboard
    found = _best(client, competition.id, published)
    lower = published.lower_is_better if published else not competition.metric.higher_is_better
    table = _table(found.teams, lower)
    write_text(dataset.leaderboard_path, table)
    facts = {
        "source": "kaggle",
        "route": found.route,
        "teams": len(found.scores),
        "without_score": len(found.teams) - len(found.scores),
        "agreement": found.agreement,
        "differences": _plain(found.differences),
        "md5": hashlib.md5(table.encode(), usedforsecurity=False).hexdigest(),
    }
    return write_facts(facts_path(dataset), competition.id, facts)


def fetch_leaderboards(
    datasets: Sequence[Dataset], *, force: bool = False, client: Client | None = None
) -> dict[str, str]:
    """Fetch those that are not there, or all with `force`; what went wrong, by competition. As `fetch_each`."""
    wanted = [each for each in datasets if force or not each.leaderboard_path.is_file()]
    return fetch_each("fetching leaderboards", wanted, fetch_leaderboard, client)


def agreement(published: Leaderboard, scores: Sequence[float], slack: int | None = None) -> float:
    """The share of the published places at which a team stands with the same score, or stood before some left.

    A place may have moved by `slack`: by default as many as there are more or fewer teams, and 2 % of them or 3.
    """
    sign = 1 if published.lower_is_better else -1
    ascending = sorted(sign * score for score in scores)
    if slack is None:
        slack = abs(len(scores) - published.teams) + max(3, published.teams // 50)

    def is_found(rank: int, score: float) -> bool:
        value, little = sign * score, tolerance(score)
        first, last = bisect_left(ascending, value - little) + 1, bisect_right(ascending, value + little)
        return first <= last and first - slack <= rank <= last + slack

    return sum(map(is_found, published.ranks, published.scores)) / len(published.ranks)


def describe_leaderboard(dataset: Dataset) -> dict[str, Any]:
    """What is known of a competition's leaderboard, as plain values; `kind` of ranks is exact, estimated or None."""
    competition = dataset.competition
    published, board = competition.leaderboard, dataset.leaderboard
    facts: dict[str, Any] = {"competition": competition.id, "title": competition.title}
    if board is None:
        return {**facts, "teams": None, "medals": {}, "kind": None}
    basis = published or board
    positions = medal_positions(basis.teams)
    return {
        **facts,
        "teams": board.teams,
        "lower_is_better": board.lower_is_better,
        "medals": {name: {"score": getattr(basis, name), "position": positions[name]} for name in positions},
        "median": basis.median,
        "best": board.scores[0],
        "worst": board.scores[-1],
        "kind": "exact" if board.is_exact else "estimated",
        "known_places": len(board.ranks),
        **_origin(dataset, published, board),
    }


def _origin(dataset: Dataset, published: Leaderboard | None, board: Leaderboard) -> dict[str, Any]:
    """Where the ranks are from, and what a fetched leaderboard has otherwise than the published one."""
    if not dataset.leaderboard_path.is_file():
        return {"source": "own" if board.md5 else "published", "md5": board.md5}
    told = read_facts(facts_path(dataset)) or {}
    return {
        "source": "fetched",
        "md5": board.md5,
        "path": str(dataset.leaderboard_path),
        "fetched": told.get("fetched"),
        "route": told.get("route"),
        "without_score": told.get("without_score"),
        "is_as_fetched": told.get("md5") == board.md5,
        "agreement": agreement(published, board.scores) if published else None,
        "published": {name: getattr(published, name) for name in FIGURES} if published else None,
        "differences": _plain(differences(published, board.scores)) if published else {},
    }


def _best(client: Client, competition: str, published: Leaderboard | None) -> _Found:
    """What comes on the first route if it agrees in everything, else what agrees best."""
    found: list[_Found] = []
    problems: list[str] = []
    for route in _ROUTES:
        try:
            found.append(_from(client, route, competition, published))
        except Transient:
            raise
        except KaggleError as error:
            problems.append(f"the {route}: {error}")
            continue
        if found[-1].is_the_published_one:
            return found[-1]
    # The last of equals: the list.
    likely = max(reversed(found), key=lambda each: (each.agreement or 0.0, -len(each.differences)), default=None)
    if likely is not None and (likely.agreement or 0.0) >= ENOUGH:
        return likely
    problems += [f"the {each.route}: {_not_the_private_one(each, published)}" for each in found]
    raise KaggleError(f"{competition}: no private leaderboard can be had from Kaggle. " + "; ".join(problems))


def _from(client: Client, route: str, competition: str, published: Leaderboard | None) -> _Found:
    teams = _ROUTES[route](client, competition)
    scores = _scores(teams)
    if not scores:
        raise NotUnderstood(f"it has {len(teams)} teams, none with a score")
    if published is None:
        return _Found(route, teams, None, {}, is_the_published_one=True)
    changed = differences(published, scores)
    is_it = not changed and agreement(published, scores, slack=0) == 1.0
    return _Found(route, teams, agreement(published, scores), changed, is_it)


def _not_the_private_one(found: _Found, published: Leaderboard | None) -> str:
    teams = f" of {published.teams:,} teams" if published else ""
    return (
        f"only {found.agreement or 0:.0%} of the places known of the published private leaderboard{teams} are found "
        f"in its {len(found.scores):,} teams, so it is another one (the public one?)"
    )


def _table(teams: Sequence[Team], lower_is_better: bool) -> str:
    """The content of leaderboard.csv; teams with the same score share a rank."""
    ranked = [(team.score, team) for team in teams if team.score is not None]
    ranked.sort(key=lambda pair: pair[0], reverse=not lower_is_better)  # stable: ties keep Kaggle's order
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "team_id", "team", "score", "submitted"])
    rank = 0
    for place, (score, team) in enumerate(ranked, 1):
        if place == 1 or score != ranked[place - 2][0]:
            rank = place
        writer.writerow([rank, team.id, team.name, repr(score), team.submitted])
    return text.getvalue()


def _plain(changed: Mapping[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {name: {"published": ours, "fetched": theirs} for name, (ours, theirs) in changed.items()}


def _scores(teams: Sequence[Team]) -> list[float]:
    return [team.score for team in teams if team.score is not None]
