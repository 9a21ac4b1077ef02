"""What the local executor starts once: a process that imports what is to be called, and forks for each call.

Imports take half a second, a fork some milliseconds. A module may have a function `warm_up` that does before the
first fork what would otherwise be done again in each. Calls come as lines of JSON on standard input
(`{"id": 1, "function": "module:name", "args": [], "kwargs": {}}`), answers go out as lines on standard output
(`{"id": 1, "result": ...}` or `{"id": 1, "error": "..."}`). When the input ends, because the executor shuts down or
its process died, running calls are interrupted as by Ctrl-C and waited for.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import sys
import traceback
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG = 1
SINGLE_THREADED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # no threads may be there at a fork


def main() -> None:
    """Serve calls until standard input ends."""
    for name in SINGLE_THREADED:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    Server(sys.stdin.fileno(), _own_standard_output()).serve()


def _own_standard_output() -> int:
    """A descriptor for the answers alone: what is printed by what is called goes to standard error."""
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


class Server:
    """Forks a child for each line of `calls`, and writes a line to `answers` when it has ended."""

    def __init__(self, calls: int, answers: int) -> None:
        self._calls, self._answers = calls, answers
        self._selector = selectors.DefaultSelector()
        self._warm: set[str] = set()
        self._children: dict[int, tuple[int, int, bytearray]] = {}  # pipe -> id of the call, process, what it said

    def serve(self) -> None:
        """Until there are no more calls; then end those that run."""
        self._selector.register(self._calls, selectors.EVENT_READ)
        unfinished = b""
        while True:
            for key, _ in self._selector.select():
                if key.fd != self._calls:
                    self._listen_to(key.fd)
                    continue
                block = os.read(self._calls, 1 << 16)
                if not block:
                    self._selector.unregister(self._calls)
                    self._end()
                    return
                *lines, unfinished = (unfinished + block).split(b"\n")
                for line in lines:
                    self._fork(json.loads(line))

    def _fork(self, call: dict[str, Any]) -> None:
        self._warm_up(call["function"].partition(":")[0])
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become_child()
            answer_call(call, writing)
        os.close(writing)
        self._children[reading] = (call["id"], pid, bytearray())
        self._selector.register(reading, selectors.EVENT_READ)

    def _warm_up(self, module: str) -> None:
        if module in self._warm:
            return
        self._warm.add(module)
        with suppress(Exception):  # the child meets the same error, and tells it
            getattr(importlib.import_module(module), "warm_up", lambda: None)()
        gc.collect()
        gc.freeze()  # what is there now is never looked at again, so that children go on sharing its memory

    def _become_child(self) -> None:
        os.setsid()
        for descriptor in (self._answers, *self._children):
            os.close(descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), self._calls)

    def _listen_to(self, pipe: int) -> None:
        number, pid, said = self._children[pipe]
        if block := os.read(pipe, 1 << 16):
            said += block
            return
        self._selector.unregister(pipe)
        os.close(pipe)
        del self._children[pipe]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        try:
            answer = json.loads(said)
        except ValueError:
            answer = {"error": f"the process ended with code {code}"}
        line = json.dumps({"id": number, **answer}) + "\n"
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(self._answers, line.encode())

    def _end(self) -> None:
        for _, pid, _ in self._children.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        while self._children:
            for key, _ in self._selector.select():
                self._listen_to(key.fd)


def answer_call(call: dict[str, Any], pipe: int) -> None:
    """Call the function, write its result or its error to `pipe`, and end this process.

    SIGTERM, also that of the parent's death, interrupts it like Ctrl-C.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    _die_with_parent()
    try:
        module, _, name = call["function"].partition(":")
        function = getattr(importlib.import_module(module), name)
        answer = {"result": function(*call["args"], **call["kwargs"])}
        text = json.dumps(answer)
    except BaseException:
        text = json.dumps({"error": traceback.format_exc()[-2000:]})
    _write_whole(pipe, text.encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _write_whole(pipe: int, content: bytes) -> None:
    while content:
        content = content[os.write(pipe, content) :]


def _interrupt(_signal: int, _frame: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: cleaning up must not be interrupted
    raise KeyboardInterrupt


def _die_with_parent() -> None:
    parent = os.getppid()
    with suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)


if __name__ == "__main__":
    main()
