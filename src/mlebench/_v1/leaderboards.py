"""Leaderboards as files and frames: one row a team, best first, in a column `score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench._v1.cache import cached_file
from mlebench.leaderboard import FIGURES, MEDALS, THRESHOLDS, Leaderboard, leaderboard_of_scores, medal_positions

if TYPE_CHECKING:
    import pandas as pd

    from mlebench.competition import Competition
    from mlebench.dataset import Dataset


def leaderboard_of(dataset: Dataset) -> Path:
    """A CSV with a row for each team: the one fetched from Kaggle if clients find the published medals in it.

    They compute thresholds from the rows, so that one which gives others would give other medals than published.
    """
    whole, published = dataset.leaderboard, dataset.competition.leaderboard
    if whole is None or published is None or not whole.is_exact or not _gives_the_figures_of(published, whole):
        return leaderboard_file(dataset.competition)
    return _file(dataset.competition.id, whole)


def leaderboard_files(dataset: Dataset) -> tuple[Path, Path]:
    """The files that are made here for clients, before and after the leaderboard was fetched; written if missing."""
    return leaderboard_file(dataset.competition), leaderboard_of(dataset)


def _gives_the_figures_of(published: Leaderboard, whole: Leaderboard) -> bool:
    found = leaderboard_of_scores(whole.scores, published.lower_is_better)
    return all(getattr(found, name) == getattr(published, name) for name in FIGURES)


def leaderboard_file(competition: Competition) -> Path:
    """A CSV with a row for each team of the published leaderboard, written on first use.

    Its name says `interpolated` where only selected ranks are known: number of rows, first, last, median and
    medal positions are exact then, the rest lies on straight lines. Where there is no leaderboard at all, the
    path of a file that does not exist.
    """
    board = competition.leaderboard
    if board is None:
        return competition.folder / "leaderboard.csv"
    return _file(competition.id, board)


def _file(competition_id: str, board: Leaderboard) -> Path:
    kind = "leaderboard" if board.is_exact else "leaderboard-interpolated"
    text = "\n".join(["score", *map(repr, board.expanded())]) + "\n"
    return cached_file(f"{competition_id}-{kind}", ".csv", text)


def board_of_rows(leaderboard: pd.DataFrame) -> Leaderboard:
    """The leaderboard whose p-th row is the p-th place; lower is better if the first score is below the last.

    Raises ValueError if there is no column `score` or no row.
    """
    if "score" not in leaderboard.columns:
        raise ValueError(f"a leaderboard needs a column 'score'; there are {', '.join(map(str, leaderboard.columns))}")
    scores: list[float] = leaderboard["score"].astype(float).tolist()
    if not scores:
        raise ValueError("the leaderboard has no rows")
    return Leaderboard(
        teams=len(scores),
        lower_is_better=scores[0] < scores[-1],
        median=float(leaderboard["score"].median()),
        ranks=tuple(range(1, len(scores) + 1)),
        scores=tuple(scores),
        md5="",
        **{name: scores[position - 1] for name, position in medal_positions(len(scores)).items()},
    )


def rank_score(score: float | None, board: Leaderboard) -> dict[str, Any]:
    """Four booleans (medals exclude each other) and the four thresholds; None earns nothing."""
    medal = None if score is None else board.medal(score)
    return {
        **{f"{name}_medal": medal == name for name in MEDALS},
        "above_median": score is not None and board.better(score, board.median),
        **{f"{name}_threshold": getattr(board, name) for name in THRESHOLDS},
    }
