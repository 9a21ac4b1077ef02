"""What can go wrong at Kaggle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RULES = "You must accept this competition's rules before you can continue."
CLOSED = "This competition is closed and its data are no longer available."


@dataclass(frozen=True)
class Fault:
    """One way to fail; what is not set is answered as always."""

    status: int = 0
    message: str = ""  # of the body {"code": status, "message": message}; without one the body is no JSON
    code: int = 0  # of the body, where that is another than the status
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None  # bytes of the body, then the connection is dropped
    block: int = 0  # bytes at a time
    pause: float = 0.0  # seconds after each block
    wrong_byte: bool = False  # the last byte of the body is another
    longer: int = 0  # that many bytes more (or less) are announced than there are
    change: bytes | None = None  # the archive becomes this, then is answered as always
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
