"""Where scores fall among the humans: the leaderboard as a curve of score by percentile, attempts as dots.

The x axis is the percentile, so that no outlier (the worst taxi fares are wrong by 24,987,861 dollars) can
squeeze the rest; it is stretched towards the top, where the medals are. Better is always up and to the right.
Only coordinates are computed here; `templates/figure.svg` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlebench.leaderboard import MEDALS, Leaderboard

WIDTH, HEIGHT = 480, 236
LEFT, RIGHT, TOP, BOTTOM = 62, 466, 34, 192
PERCENTILES = (0, 25, 50, 75, 90, 95, 99, 100)
MOST_LABELS = 12  # more numbers than this above the plot can't be told apart
_LABEL_GAP = 15.0
_SHOWN = 0.9  # the score axis spans this share of the teams, from the best on
_POINTS = 160


@dataclass(frozen=True)
class Band:
    """The percentiles that earn a medal."""

    medal: str
    x: float
    width: float


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Dot:
    """An attempt. `beyond`: "above" or "below" if the score is off the axis, else ""."""

    label: str
    outcome: str
    x: float
    y: float
    label_x: float
    beyond: str


@dataclass(frozen=True)
class Figure:
    """What the template draws, in units of its view box."""

    bands: tuple[Band, ...]
    median_x: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curve: str  # points of a polyline
    dots: tuple[Dot, ...]
    labelled: bool


@dataclass(frozen=True)
class Scored:
    """An attempt to be drawn."""

    label: str
    score: float
    outcome: str


def draw(board: Leaderboard, attempts: Sequence[Scored]) -> Figure:
    """Lay out the plot of `attempts` on `board`."""
    scores = np.asarray(board.expanded())
    low, high = _range(scores, [attempt.score for attempt in attempts])

    def y(score: float) -> float:
        share = (min(max(score, low), high) - low) / (high - low)
        return round(TOP + (BOTTOM - TOP) * (share if board.lower_is_better else 1 - share), 1)

    # Equal steps along the stretched axis.
    ranks = np.unique((1 + (board.teams - 1) * np.linspace(0, 1, _POINTS) ** 2).round().astype(int))
    points = [(_x((board.teams + 1 - rank) / board.teams), y(float(scores[rank - 1]))) for rank in ranks.tolist()]
    dots = [_dot(board, attempt, y(attempt.score), low, high) for attempt in attempts]
    return Figure(
        bands=tuple(_bands(board, scores)),
        median_x=_x(0.5),
        x_ticks=tuple(Tick(_x(percentile / 100), str(percentile)) for percentile in PERCENTILES),
        y_ticks=tuple(Tick(y(value), label) for value, label in _nice_ticks(low, high)),
        curve=" ".join(f"{x},{height}" for x, height in points),
        dots=tuple(_spread(dots)),
        labelled=len(dots) <= MOST_LABELS,
    )


def _x(percentile: float) -> float:
    """Where a percentile (0 to 1) stands; the axis is stretched as the root of the distance from the top."""
    return round(LEFT + (RIGHT - LEFT) * (1 - math.sqrt(1 - min(max(percentile, 0.0), 1.0))), 1)


def _range(scores: np.ndarray, attempts: Sequence[float]) -> tuple[float, float]:
    """The span of the score axis: most of the teams, and attempts that are not far from them."""
    shown = scores[: max(1, math.ceil(_SHOWN * len(scores)))]
    shown = shown[np.isfinite(shown)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    reach = (high - low) / 4
    near = [score for score in attempts if low - reach <= score <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    margin = (high - low) / 20 or abs(high) / 20 or 1.0
    return low - margin, high + margin


def _bands(board: Leaderboard, scores: np.ndarray) -> list[Band]:
    """Everyone whose score takes a medal, ties included; a medal that a better one hides has no band."""
    right, bands = _x(1.0), []
    for medal in MEDALS:
        threshold = getattr(board, medal)
        earning = int((scores <= threshold).sum() if board.lower_is_better else (scores >= threshold).sum())
        # Half a place beyond the last team that has it, so that its dot is inside and the next team's outside.
        left = _x((board.teams - earning + 0.5) / board.teams)
        if left < right:
            bands.append(Band(medal, left, round(right - left, 1)))
            right = left
    return bands


def _dot(board: Leaderboard, attempt: Scored, y: float, low: float, high: float) -> Dot:
    beyond = ""
    if not low <= attempt.score <= high:
        beyond = "above" if (attempt.score < low) == board.lower_is_better else "below"
    x = _x(board.percentile(attempt.score))
    return Dot(attempt.label, attempt.outcome, x, y, x, beyond)


def _spread(dots: Sequence[Dot]) -> list[Dot]:
    """Move labels apart so that none covers another, as near to their dots as that allows."""
    ordered = sorted(dots, key=lambda dot: dot.x)
    places: list[float] = []
    for dot in ordered:
        places.append(max(dot.x, places[-1] + _LABEL_GAP) if places else dot.x)
    limit = RIGHT + 4.0
    for index in reversed(range(len(places))):
        places[index] = min(places[index], limit)
        limit = places[index] - _LABEL_GAP
    return [
        Dot(dot.label, dot.outcome, dot.x, dot.y, round(place, 1), dot.beyond)
        for dot, place in zip(ordered, places, strict=True)
    ]


def _nice_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Three to six round values between `low` and `high` with their labels."""
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * min((1, 2, 5, 10), key=lambda factor: abs(factor * unit - rough))
    first, last = math.ceil(low / step), math.floor(high / step)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(number * step, _label(number * step, decimals)) for number in range(first, last + 1)]


def _label(value: float, decimals: int) -> str:
    if abs(value) >= 1e9:
        return f"{value:.2e}"
    if abs(value) >= 1e5:
        return f"{value / 1e6:g}M"
    return f"{value:,.{decimals}f}"
