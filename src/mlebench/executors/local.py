"""Attempts on this machine: each in a process of its own, so that none can take another down.

A child gets SIGTERM when the runner dies, however it dies, and treats it as an interruption.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any


class ChildError(RuntimeError):
    """A child process failed; the message is the end of what it printed on standard error."""


class LocalExecutor(Executor):
    """Runs `workers` functions at once, each in a fresh Python process. Arguments and results must be JSON."""

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="attempt")
        self._children: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopping = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call `fn`, a function at the top of a module, in a child process."""
        call = json.dumps({"function": f"{fn.__module__}:{fn.__qualname__}", "args": args, "kwargs": kwargs})
        return self._threads.submit(self._run, call)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As in `concurrent.futures`; with `cancel_futures`, running children are interrupted as well."""
        if cancel_futures:
            with self._lock:
                self._stopping = True
                for child in self._children:
                    with contextlib.suppress(ProcessLookupError):
                        child.terminate()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _run(self, call: str) -> Any:
        with self._lock:
            if self._stopping:
                raise ChildError("the run is being stopped")
            child = subprocess.Popen(
                [sys.executable, "-m", "mlebench.executors.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C at the terminal reaches the runner alone
            )
            self._children.add(child)
        try:
            output, errors = child.communicate(call)
        finally:
            with self._lock:
                self._children.discard(child)
        if child.returncode != 0:
            raise ChildError(errors.strip()[-2000:] or f"the process ended with code {child.returncode}")
        return json.loads(output.splitlines()[-1])
