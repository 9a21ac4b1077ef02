"""The part of a preparation that runs in a process of its own: unpacking, preparing, checksums.

A process for each competition gives its memory back, and one that is killed or crashes is a result, not the end of
all. It is a fresh interpreter, started as a program: no fork of a process with threads, and the caller's main module
is not imported again, as `multiprocessing` would. Each leads a process group, so that Ctrl-C at the terminal reaches
the parent alone, and whatever a competition starts ends with it. The parent holds the other end of its standard
input: when that closes, for whatever reason, the group kills itself.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from mlebench.preparation import progress

REPORT_SECONDS = 0.2  # between two reports of the same step's progress
_BOOTSTRAP = "import sys; sys.path[:] = {path!r}; from mlebench.preparation.pipeline.worker import main; main()"


class Died(Exception):
    """The process ended without a result: killed, crashed, or by an exception that nobody expected."""

    def __init__(self, code: int, last_words: str) -> None:
        self.code, self.last_words = code, last_words
        super().__init__(self.reason)

    @property
    def reason(self) -> str:
        """In a few words."""
        if self.code == -signal.SIGKILL:
            return "killed (memory?)"
        if self.code < 0:
            return f"crashed ({signal.Signals(-self.code).name})"
        return f"ended without a result (exit code {self.code}){': ' + self.last_words if self.last_words else ''}"


class Worker:
    """A process that carries out one order; its steps are shown on `display`."""

    def __init__(self, order: Mapping[str, Any], display: progress.Display) -> None:
        self._order, self._display = order, display
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            process_group=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._messages = self._process.stdin, self._process.stdout
        self.pid = self._process.pid

    def run(self) -> dict[str, Any]:
        """The result, when it is there. Raises Died if the process ends without one."""
        try:
            with suppress(BrokenPipeError):  # it has ended already: that is found below
                self._orders.write(json.dumps(self._order).encode() + b"\n")
                self._orders.flush()
            result = self._follow(self._messages)
            if result is None:
                raise Died(self._process.wait(), self._last_words())
            return result
        finally:
            self.kill()  # with all that it may have left running
            self._process.wait()
            self._close()

    def _follow(self, messages: IO[bytes]) -> dict[str, Any] | None:
        """Show what the process says; returns its result."""
        handles: dict[int, int] = {}
        for line in messages:
            with suppress(ValueError):  # half a line of a process that was killed
                match json.loads(line):
                    case ["start", handle, text, total, unit]:
                        handles[handle] = self._display.start(text, total, unit)
                    case ["advance", handle, amount]:
                        self._display.advance(handles[handle], amount)
                    case ["finish", handle]:
                        self._display.finish(handles[handle])
                    case ["result", result]:
                        return result
        return None

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _close(self) -> None:
        with suppress(BrokenPipeError):
            self._orders.close()
        self._messages.close()
        self._errors.close()

    def terminate(self) -> None:
        """Ask it to stop and clean up."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and all that it started, at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def main() -> None:
    """Take one order from standard input and carry it out."""
    orders, messages = _take_over_streams()
    with suppress(OSError):  # when memory runs out, this process is to go rather than the one that tells of it
        Path("/proc/self/oom_score_adj").write_text("500")
    order = json.loads(orders.readline())
    threading.Thread(target=_end_with_parent, args=(orders,), daemon=True).start()
    signal.signal(signal.SIGTERM, _stop)
    code = 1
    try:
        with progress.shown_on(Relay(messages)):
            messages(["result", carry_out(order)])
        code = 0
    except BaseException:  # the parent reads the last line
        traceback.print_exc()
    finally:
        os._exit(code)  # at once: threads of a library, or what it does at exit, may take their time


Messages = Callable[[list[Any]], None]


def _take_over_streams() -> tuple[IO[bytes], Messages]:
    """Orders and messages on files that no program which a competition starts inherits."""
    orders, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    lock = threading.Lock()

    def say(message: list[Any]) -> None:
        with lock:
            out.write(json.dumps(message).encode() + b"\n")
            out.flush()

    return orders, say


def _end_with_parent(orders: IO[bytes]) -> None:
    """Wait until the parent's end is closed: there are no further orders."""
    orders.read()
    os.killpg(0, signal.SIGKILL)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: cleaning up is not interrupted
    raise KeyboardInterrupt


class Relay:
    """A display that passes on what it is told, many small advances as one."""

    def __init__(self, say: Messages) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._handles = 0
        self._pending: dict[int, tuple[int, float]] = {}  # amount not told yet, and when the last was

    def start(self, text: str, total: int, unit: str) -> int:
        """Begin a step."""
        with self._lock:
            self._handles += 1
            self._pending[self._handles] = (0, 0.0)
            self._say(["start", self._handles, text, total, unit])
            return self._handles

    def advance(self, step: int, amount: int) -> None:
        """It is further."""
        with self._lock:
            pending, told = self._pending[step]
            now = time.monotonic()
            if now - told < REPORT_SECONDS:
                self._pending[step] = (pending + amount, told)
            else:
                self._say(["advance", step, pending + amount])
                self._pending[step] = (0, now)

    def finish(self, step: int) -> None:
        """It is over."""
        with self._lock:
            pending, _ = self._pending.pop(step)
            if pending:
                self._say(["advance", step, pending])
            self._say(["finish", step])


def carry_out(order: Mapping[str, Any]) -> dict[str, Any]:
    """Prepare, then verify, as the order says; the facts of a result, with the problems if it fails."""
    from mlebench.catalog import load
    from mlebench.dataset import Dataset
    from mlebench.errors import MlebenchError
    from mlebench.preparation.disk import use_of

    competition = load(Path(order["folder"])).in_edition(order["edition"])
    dataset = Dataset(competition, Path(order["data_dir"]))
    try:
        facts: dict[str, Any] = {"state": "already prepared", "problems": []}
        if order["prepare"] and _prepare(dataset, order):
            facts |= {"state": "prepared", "disk_bytes": use_of(dataset.home).total}
        facts |= facts_of(dataset)
        return facts | (_verify(dataset) if order["verify"] else {})
    except (MlebenchError, OSError) as error:
        return {"state": "failed", "problems": [words_of(error)], "page": getattr(error, "page", "")}


def words_of(error: Exception) -> str:
    """What a user is told of an error; the way out for one that a file system gives, too."""
    from mlebench.errors import MlebenchError

    if isinstance(error, OSError) and error.filename is not None:
        elsewhere = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)
        advice = ". --data-dir or MLEBENCH_DATA_DIR names another place for the data" if elsewhere else ""
        return f"{error.filename}: {error.strerror}{advice}"
    return str(error) if isinstance(error, MlebenchError) else repr(error)


def _prepare(dataset: Any, order: Mapping[str, Any]) -> bool:
    from mlebench.preparation.engine import prepare
    from mlebench.preparation.sources import find_source

    source = find_source(order["source"], order["rows"], order["seed"], dataset.data_dir)
    return prepare(dataset, source, keep=order["keep"], force=order["force"])


def facts_of(dataset: Any) -> dict[str, Any]:
    """What a result says of prepared data."""
    manifest = dataset.manifest()
    return {
        "path": str(dataset.prepared),
        "edition": manifest["edition"],
        "source": manifest["source"],
        "files": len(manifest["files"]),
        **({"unlike_published": manifest["unlike_published"]} if manifest.get("unlike_published") else {}),
    }


def _verify(dataset: Any) -> dict[str, Any]:
    from mlebench.preparation.verification import explain, inspect

    found = inspect(dataset)
    return {
        "state": "mismatch" if found.failures else "verified",
        "published_checksums": found.published,
        "problems": explain(found.failures),
        "notes": explain(found.notes),
        "mismatches": [asdict(mismatch) for mismatch in found.mismatches],
    }
