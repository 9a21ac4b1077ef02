"""Medals over time: what the submissions in place would have earned, had the attempts ended earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlebench.report.results import AttemptResult, RunResults

MOST_ROWS = 25


@dataclass(frozen=True)
class Moment:
    """The state of all counted attempts `seconds` after their start; shares of them."""

    seconds: float
    attempts: int
    any_medal: float
    valid: float


def moments(results: RunResults) -> list[Moment]:
    """One for each multiple of the time between snapshots up to the time limit, thinned out to at most 25.

    An attempt that is over keeps what it had in place; empty without snapshots or without an attempt that counts.
    """
    every = results.run.snapshot_seconds
    counted = [attempt for attempt in results.attempts if attempt.counts]
    if every is None or not counted:
        return []
    number = int(results.run.time_limit_seconds // every)
    longest = max((attempt.seconds or 0 for attempt in counted), default=0)
    number = min(number, int(longest // every) + 1)
    step = -(-number // MOST_ROWS) or 1
    return [_moment(counted, every * count) for count in range(step, number + 1, step)]


def _moment(attempts: Sequence[AttemptResult], seconds: float) -> Moment:
    grades = [grade for attempt in attempts if (grade := attempt.grade_at(seconds)) is not None]
    medals = sum(grade.medal is not None for grade in grades)
    valid = sum(grade.valid_submission for grade in grades)
    return Moment(seconds, len(attempts), medals / len(attempts), valid / len(attempts))
