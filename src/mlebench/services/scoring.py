"""Scores on training rows that were held back: what `POST /score` of the validation service answers with.

It has labels, but none that count: those of the rows held back. So that they can't be read out of the scores one by
one, there are only so many in any hour. A submission that does not fit the sample costs none.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.dataset import Dataset
from mlebench.errors import InvalidSubmission
from mlebench.files import strict
from mlebench.grading import score_valid, validate_submission

HOUR = 3600.0
MAX_LOG_BYTES = 32 << 20  # for what is no score: an agent may ask all day


@dataclass(frozen=True)
class Answer:
    """What the service says to one submission."""

    status: int  # of HTTP
    message: str
    score: float | None = None
    left: int = 0  # scores that may still be asked for now
    wait_seconds: int = 0  # until the next one may be, if there are none left

    def content(self) -> dict[str, Any]:
        """As JSON."""
        if self.status == 429:
            return {"error": self.message, "details": "", "wait_seconds": self.wait_seconds}
        return strict({"score": self.score, "message": self.message, "left": self.left})


class Scorer:
    """Scores submissions for the rows in `held_back`, at most `per_hour` in any hour, and logs each call.

    A line of the log: time, bytes, and score (null if it is undefined), or invalid (the kinds of the first
    problems), or refused_for_seconds. `clock` tells seconds.
    """

    def __init__(
        self, held_back: Dataset, per_hour: int, log: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._data, self._per_hour, self._log, self._clock = held_back, per_hour, log, clock
        self._asked: deque[float] = deque()

    def judge(self, path: Path) -> Answer:
        """Score the file at `path`; not to be called twice at a time."""
        now = self._clock()
        while self._asked and now - self._asked[0] >= HOUR:
            self._asked.popleft()
        if len(self._asked) >= self._per_hour:
            wait = math.ceil(HOUR - (now - self._asked[0]))
            self._record(path, {"refused_for_seconds": wait})
            text = f"{self._per_hour} scores an hour are all there are; the next one in {_in_words(wait)}"
            return Answer(429, text, wait_seconds=wait)
        validation = validate_submission(path, self._data)
        if validation.table is None:
            kinds = list(dict.fromkeys(problem.kind for problem in validation.problems))[:5]
            self._record(path, {"invalid": kinds})
            return Answer(200, validation.message(), left=self._per_hour - len(self._asked))
        self._asked.append(now)  # however it ends: what happens beside the labels tells something of them
        score = None
        try:
            score, message = score_valid(validation.table, self._data), "ok"
        except InvalidSubmission as error:
            message = f"There is no score: {error}"
        finally:
            self._record(path, strict({"score": score}), always=True)
        return Answer(200, message, score, left=self._per_hour - len(self._asked))

    def _record(self, path: Path, outcome: dict[str, Any], always: bool = False) -> None:
        if self._log is None or (not always and self._log.exists() and self._log.stat().st_size > MAX_LOG_BYTES):
            return
        entry = {"time": datetime.now(UTC).isoformat(), "bytes": path.stat().st_size, **outcome}
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def scores_asked(log: Path) -> int:
    """How many scores were given, by the log of a `Scorer`."""
    if not log.is_file():
        return 0
    return sum("score" in json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line)


def _in_words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"
