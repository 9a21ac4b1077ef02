"""Attempts on this machine: each in a process of its own, so that none can take another down.

A child gets SIGTERM when the runner dies, however it dies, and treats it as an interruption.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from typing import IO, Any


class ChildError(RuntimeError):
    """A child process failed; the message is the end of its traceback."""


class LocalExecutor(Executor):
    """Runs `workers` functions at once, each in a process of its own. Arguments and results must be JSON."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._numbers = itertools.count(1)
        self._waiting: deque[tuple[Future[Any], dict[str, Any]]] = deque()
        self._running: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._stopping = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call `fn`, a function at the top of a module, in a process of its own."""
        call = {"function": f"{fn.__module__}:{fn.__qualname__}", "args": args, "kwargs": kwargs}
        json.dumps(call)  # a TypeError belongs to the caller
        future: Future[Any] = Future()
        with self._lock:
            if self._stopping:
                raise RuntimeError("the executor has been shut down")
            self._waiting.append((future, call))
            self._start_more()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what has been submitted; with `cancel_futures`, running children are interrupted as well."""
        with self._lock:
            self._stopping = True
            if cancel_futures:
                for future, _ in self._waiting:
                    future.cancel()
                self._waiting.clear()
            if cancel_futures or not (self._waiting or self._running):
                self._end_server()
        if wait and self._reader is not None:
            self._reader.join()

    def _start_more(self) -> None:
        """Hand out what waits as long as there is a place for it; the lock is held."""
        while self._waiting and len(self._running) < self._workers:
            future, call = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            number = next(self._numbers)
            self._running[number] = future
            input_ = self._input()
            with contextlib.suppress(BrokenPipeError):  # the reader hears of the server's end
                input_.write(json.dumps({"id": number, **call}).encode() + b"\n")
                input_.flush()

    def _input(self) -> IO[bytes]:
        """Where calls go; starts the server for the first one."""
        if self._server is None:
            started: Future[subprocess.Popen[bytes]] = Future()
            # The server ends with the thread that started it: one that lives until then.
            self._reader = threading.Thread(target=self._serve, args=(started,), daemon=True)
            self._reader.start()
            self._server = started.result()
        assert self._server.stdin is not None
        return self._server.stdin

    def _serve(self, started: Future[subprocess.Popen[bytes]]) -> None:
        """Start the server, and hand on its answers until it ends."""
        try:
            server = subprocess.Popen(
                [sys.executable, "-m", "mlebench.executors.forks"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal reaches the runner alone
            )
        except OSError as error:
            started.set_exception(error)
            return
        started.set_result(server)
        with server:
            self._read(server)
        with self._lock:
            lost = [*self._running.values(), *(future for future, _ in self._waiting)]
            self._running.clear()
            self._waiting.clear()
            self._stopping = True
        for future in lost:
            with contextlib.suppress(InvalidStateError):  # it was cancelled
                future.set_exception(ChildError(f"the process of all attempts ended with code {server.returncode}"))

    def _read(self, server: subprocess.Popen[bytes]) -> None:
        assert server.stdout is not None
        for line in server.stdout:
            answer = json.loads(line)
            with self._lock:
                future = self._running.pop(answer["id"])
                self._start_more()
                if self._stopping and not self._running and not self._waiting:
                    self._end_server()
            if "error" in answer:
                future.set_exception(ChildError(answer["error"]))
            else:
                future.set_result(answer["result"])

    def _end_server(self) -> None:
        if self._server is not None and self._server.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._server.stdin.close()
