"""How much time is left."""

from __future__ import annotations

import time


class Clock:
    """Counts down from `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.started = time.monotonic()
        self.seconds = seconds

    def used(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def left(self) -> float:
        """Seconds that remain; negative if the time is over."""
        return self.seconds - self.used()

    def part(self, share: float) -> Clock:
        """A clock for this share of what is left."""
        return Clock(max(0.0, self.left()) * share)


def working_seconds(limit: float, cap: float) -> float:
    """How long to work: at most `cap`, and leave half of a short limit, a minute of a long one, unused."""
    return max(1.0, min(cap, max(0.5 * limit, limit - 60)))


def last_second(limit: float, working: float) -> float:
    """When to end at any price: some time after the working time, some before the limit."""
    return min(0.9 * limit, 1.5 * working + 30)
