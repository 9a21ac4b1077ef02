"""Running a command so that neither endless output nor a program in the background is in the way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

KEPT_BYTES = 200_000  # of a command's output: the model is shown 10,000 characters
DRAIN_SECONDS = 1.0  # for the last output of a command whose children go on


class Finished(NamedTuple):
    """What a command did. `code` is None if it was stopped because it took too long."""

    output: str
    code: int | None


class Tail:
    """The first and the last bytes of a stream that may be of any length."""

    def __init__(self) -> None:
        self._head, self._tail, self._left_out = bytearray(), bytearray(), 0
        self._lock = threading.Lock()

    def drain(self, stream: IO[bytes]) -> None:
        """Read until the end, and close it."""
        with stream:
            while block := os.read(stream.fileno(), 65536):
                self.add(block)

    def add(self, block: bytes) -> None:
        """Take more bytes."""
        with self._lock:
            room = KEPT_BYTES // 2 - len(self._head)
            self._head += block[:room]
            self._tail += block[max(0, room) :]
            excess = len(self._tail) - KEPT_BYTES // 2
            if excess > 0:
                del self._tail[:excess]
                self._left_out += excess

    def text(self) -> str:
        """What is known of the stream."""
        with self._lock:
            gap = f"\n... ({self._left_out} bytes) ...\n".encode() if self._left_out else b""
            return (bytes(self._head) + gap + bytes(self._tail)).decode(errors="replace")


def execute(command: str, folder: Path, environment: Mapping[str, str], seconds: float) -> Finished:
    """Run `command` in a shell of its own until it ends; after `seconds` it is killed with its children.

    Programs that it leaves in the background go on; only what they print until then is seen.
    """
    tail = Tail()
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    reader = threading.Thread(target=tail.drain, args=[process.stdout], daemon=True)
    reader.start()
    code: int | None = None
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    reader.join(DRAIN_SECONDS)
    return Finished(tail.text(), code)
