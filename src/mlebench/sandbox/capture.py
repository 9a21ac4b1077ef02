"""Keeping what a program prints, bounded."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

OUTPUT_HEAD = 60 << 20
OUTPUT_TAIL = 4 << 20
END_SECONDS = 60


@contextmanager
def captured(source: IO[bytes], output: Path) -> Iterator[None]:
    """Copy what comes out of the pipe `source` to the file `output`: its beginning at once, its end at the end."""
    with output.open("wb") as file:
        pump = threading.Thread(target=_pump, args=(source, file), daemon=True)
        pump.start()
        try:
            yield
        finally:
            pump.join(END_SECONDS)
            source.close()


def _pump(source: IO[bytes], file: IO[bytes]) -> None:
    written = kept = dropped = 0
    tail: deque[bytes] = deque()
    while block := os.read(source.fileno(), 1 << 16):
        if written < OUTPUT_HEAD:
            file.write(block)
            file.flush()
            written += len(block)
            continue
        tail.append(block)
        kept += len(block)
        while kept > OUTPUT_TAIL:
            gone = len(tail.popleft())
            kept -= gone
            dropped += gone
    if dropped:
        file.write(f"\n[{dropped:,} bytes are left out here]\n".encode())
    file.writelines(tail)
