"""An opened file whose reading is shown as progress."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path


class Watched(io.BufferedReader):
    """A file opened for reading that tells how many of its bytes were read."""

    def __init__(self, path: Path, done: Callable[[int], None]) -> None:
        super().__init__(io.FileIO(path))
        self._done = done

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and tell."""
        content = super().read(size)
        self._done(len(content))
        return content
