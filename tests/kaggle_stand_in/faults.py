"""What can go wrong at Kaggle."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

RULES = "You must accept this competition's rules before you can continue."
CLOSED = "This competition is closed and its data are no longer available."
PHONE = "Your account is not verified: verify your phone number before you can continue."


@dataclass(frozen=True)
class Fault:
    """One way to fail; what is not set is answered as always."""

    status: int = 0
    message: str = ""  # of the body {"code": status, "message": message}; without one the body is no JSON
    code: int = 0  # of the body, where that is another than the status
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None  # bytes of the body, then the connection is dropped
    block: int = 0  # bytes at a time
    pause: float = 0.0  # seconds after each block; of a call of the API, before its answer
    wrong_byte: bool = False  # the last byte of the body is another
    longer: int = 0  # that many bytes more (or less) are announced than there are
    change: bytes | Path | None = None  # the archive becomes this, then is answered as always
    is_stale: bool = False  # the permission in the address is over
    no_ranges: bool = False  # the whole file, whatever was asked for

    @staticmethod
    def answer(status: int, message: str = "", **headers: str) -> Fault:
        """An error; `retry_after="1"` becomes the header Retry-After."""
        return Fault(status, message, headers={name.replace("_", "-"): value for name, value in headers.items()})

    @staticmethod
    def rules() -> Fault:
        """The rules are not accepted, in so many words."""
        return Fault.answer(403, RULES)

    @staticmethod
    def phone() -> Fault:
        """The account's phone number is not verified, in so many words."""
        return Fault.answer(403, PHONE)

    @staticmethod
    def cut(after: int = 0) -> Fault:
        """The connection is dropped after so many bytes of the body."""
        return Fault(cut_after=after)

    @staticmethod
    def drip(block: int, pause: float) -> Fault:
        """So many bytes at a time, with pauses in between."""
        return Fault(block=block, pause=pause)

    @staticmethod
    def silence(seconds: float) -> Fault:
        """One byte, then nothing for so long."""
        return Fault(block=1, pause=seconds)


class RateLimit:
    """So many calls of the API within so many seconds; the others are answered 429.

    `tells` is how Retry-After says when to come back: "seconds", "date" or "" (no such header).
    """

    def __init__(self, calls: int, seconds: float, tells: str = "seconds") -> None:
        self._calls, self._seconds, self._tells = calls, seconds, tells
        self._times: deque[float] = deque()
        self.refused = 0

    def refuses(self) -> Fault | None:
        """The answer to a call that is one too many."""
        now = time.time()
        while self._times and self._times[0] <= now - self._seconds:
            self._times.popleft()
        if len(self._times) < self._calls:
            self._times.append(now)
            return None
        self.refused += 1
        free = self._times[0] + self._seconds  # both forms know whole seconds only
        told = {"seconds": str(math.ceil(free - now)), "date": formatdate(math.ceil(free), usegmt=True)}
        headers = {"Retry-After": told[self._tells]} if self._tells else {}
        return Fault(429, "Too many requests", headers=headers)
