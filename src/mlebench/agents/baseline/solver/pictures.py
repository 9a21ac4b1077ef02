"""Which kind of picture bytes are."""

from __future__ import annotations

ENDINGS = ((b"\xff\xd8", ".jpg"), (b"\x89PNG", ".png"), (b"GIF8", ".gif"), (b"BM", ".bmp"))


def ending_of(data: bytes) -> str:
    """The usual ending of a file of these bytes; `.bin` if it is no picture that is known."""
    return next((ending for start, ending in ENDINGS if data.startswith(start)), ".bin")
