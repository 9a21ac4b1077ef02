"""Leaderboards as files and frames: one row a team, best first, in a column `score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench._v1.cache import cached_file
from mlebench.leaderboard import MEDALS, Leaderboard, medal_positions

if TYPE_CHECKING:
    import pandas as pd

    from mlebench.competition import Competition


def leaderboard_file(competition: Competition) -> Path:
    """A CSV with a row for each team, written on first use.

    Its name says `interpolated` where only selected ranks are known: number of rows, first, last, median and
    medal positions are exact then, the rest lies on straight lines. Where there is no leaderboard at all, the
    path of a file that does not exist.
    """
    board = competition.leaderboard
    if board is None:
        return competition.folder / "leaderboard.csv"
    kind = "leaderboard" if len(board.ranks) == board.teams else "leaderboard-interpolated"
    text = "\n".join(["score", *map(repr, board.expanded())]) + "\n"
    return cached_file(f"{competition.id}-{kind}", ".csv", text)


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
        **{name: scores[position - 1] for name, position in medal_positions(len(scores)).items()},
    )


def rank_score(score: float | None, board: Leaderboard) -> dict[str, Any]:
    """Four booleans (medals exclude each other) and the four thresholds; None earns nothing."""
    medal = None if score is None else board.medal(score)
    return {
        **{f"{name}_medal": medal == name for name in MEDALS},
        "above_median": score is not None and board.better(score, board.median),
        **{f"{name}_threshold": getattr(board, name) for name in (*MEDALS, "median")},
    }
