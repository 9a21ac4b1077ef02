"""How long to wait between tries, and when to give up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mlebench.preparation import progress
from mlebench.preparation.kaggle.errors import Transient


@dataclass(frozen=True)
class Patience:
    """Pauses double from `first_pause` to `longest_pause` seconds, unless the server names one."""

    tries: int = 8  # in a row without progress
    first_pause: float = 1.0
    longest_pause: float = 60.0
    longest_told: float = 900.0  # a server that asks for more is not waited for
    sleep: Callable[[float], None] = time.sleep

    def wait(self, error: Transient, failures: int) -> None:
        """Sleep after the given number of failures in a row; raises `error` if another try is no use."""
        told = error.retry_after
        if failures >= self.tries or (told is not None and told > self.longest_told):
            raise error
        usual = min(self.first_pause * 2 ** (failures - 1), self.longest_pause)
        # Some jitter, or all processes that were refused at once would come back at once.
        pause = told if told is not None else usual * random.uniform(0.75, 1.25)
        with progress.step(f"trying again in {pause:,.0f} s: {error}", 1):
            self.sleep(pause)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a Retry-After header asks to wait: a number or a date. None if there is none.

    >>> retry_after({"retry-after": "7"})
    7.0
    """
    text = headers.get("retry-after", "").strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
