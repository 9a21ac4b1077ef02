"""Running a script with all that it starts, within the time that is left."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

KEPT = 500_000  # bytes of each stream, of its beginning and of its end
PATIENCE = 10.0  # seconds for a stream to end once no process is left
_BLOCK = 1 << 16
_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Ran:
    """How a script ended. `exit_code` is None if it was stopped because its time was over."""

    exit_code: int | None
    seconds: float
    output: str
    errors: str


def adopt_orphans() -> None:
    """Have processes whose parent is gone become children of this one, so that none is lost from sight."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_script(script: Path, folder: Path, seconds: float) -> Ran:
    """Run a Python script in `folder`; when it ends or its time is over, all it left running is killed.

    An exception in this thread, as raised by a signal, leaves no process behind either.
    """
    start, others = time.monotonic(), set(_below(os.getpid()))
    process = subprocess.Popen(
        [sys.executable, "-u", os.path.relpath(script, folder)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stderr
    streams = [Ends(process.stdout), Ends(process.stderr)]
    try:
        exit_code: int | None = process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        exit_code = None
    finally:
        _kill_all(process, others)
    output, errors = (stream.text() for stream in streams)
    return Ran(exit_code, time.monotonic() - start, output, errors)


def _kill_all(process: subprocess.Popen[bytes], spared: Set[int]) -> None:
    """Kill `process` and everything else below this one but `spared`, until nothing is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # all there is to do where there is no /proc
    while living := [number for number, state in _below(os.getpid(), spared).items() if state != "Z"]:
        for number in living:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)
    process.wait()
    for number in _below(os.getpid(), spared):  # orphans that were adopted
        with suppress(ChildProcessError):
            os.waitpid(number, os.WNOHANG)


def _below(ancestor: int, spared: Set[int] = frozenset()) -> dict[int, str]:
    """The processes below `ancestor` and their states, but `spared` and what is below these."""
    children: dict[int, list[tuple[int, str]]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # it ended meanwhile
        if int(folder.name) not in spared:
            children.setdefault(int(parent), []).append((int(folder.name), state))
    found: dict[int, str] = {}
    queue = [ancestor]
    while queue:
        below = dict(children.get(queue.pop(), []))
        found |= below
        queue += below
    return found


class Ends:
    """Reads a stream to its end in a thread and keeps its beginning and its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head = b""
        self._tail = b""
        self._dropped = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """What was read, once the stream has ended; a process that got away does not hold this up."""
        self._thread.join(PATIENCE)
        note = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
        return (self._head + note + self._tail).decode(errors="replace")

    def _read(self) -> None:
        with self._stream as stream:
            while block := os.read(stream.fileno(), _BLOCK):
                room = KEPT - len(self._head)
                self._head += block[:room]
                tail = self._tail + block[room:]
                self._dropped += max(0, len(tail) - KEPT)
                self._tail = tail[-KEPT:]
