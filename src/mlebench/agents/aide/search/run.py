"""One attempt: read the settings, search, and leave everything tidy however it ends."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from types import FrameType
from typing import Any, NoReturn

from . import settings as environment
from .settings import Settings

FAILURES = 5  # steps in a row that fail before the search is given up
FAILED, REFUSED, STOPPED = 1, 3, 128 + signal.SIGTERM


class Stopped(BaseException):
    """SIGTERM: time is up, or the budget is spent."""


def main() -> NoReturn:
    """Run AIDE and leave; child processes that hang must not keep this one."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until there is something to do
    try:
        code = run(environment.read())
    except Stopped:
        code = STOPPED
    except KeyError as error:
        print(f"The environment variable {error} is missing.", file=sys.stderr)
        code = 2
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def run(settings: Settings) -> int:
    """Search until all steps are made; the exit code."""
    from .tree import Search

    multiprocessing.set_start_method("fork")  # as the tool expects; Python 3.14 has another default
    _seed(settings.seed)
    sys.setrecursionlimit(100_000)  # the tool copies its tree by recursion: by default it fails at a depth of 200
    search = Search(settings)

    def warn(_signal: int, _frame: FrameType | None) -> None:
        search.submissions.restore()
        os.write(1, b"Time runs short: what is best so far is in place, and the search goes on.\n")

    signal.signal(signal.SIGUSR1, warn)
    print(f"AIDE: {settings.steps} steps, model {settings.model}, feedback {settings.feedback_model}", flush=True)
    try:
        return _search(search, settings)
    except Stopped:
        print("Stopped: time is up or the budget is spent.", flush=True)
        return STOPPED
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        search.end_programs()
        search.submissions.restore()
        search.save()
        _tell_end(search)


def _search(search: Any, settings: Settings) -> int:
    import anthropic  # pyright: ignore[reportMissingImports]
    import openai  # pyright: ignore[reportMissingImports]

    refusals = tuple(
        error
        for library in (openai, anthropic)
        for error in (library.AuthenticationError, library.PermissionDeniedError, library.NotFoundError)
    )
    failures = 0
    while len(search.journal) < settings.steps:
        begun = time.monotonic()
        try:
            node = search.step()
        except refusals as error:
            print(f"The model is refused (HTTP {error.status_code}), so the search ends: {error}", file=sys.stderr)
            return REFUSED
        except Exception as error:
            failures += 1
            print(f"The step failed ({failures} of {FAILURES} in a row): {type(error).__name__}: {error}", flush=True)
            if failures == FAILURES:
                traceback.print_exc()
                return FAILED
            time.sleep(2**failures)
            continue
        failures = 0
        _tell(search, node, settings, time.monotonic() - begun)
        search.save()
    if settings.generate_report:
        _report(search, settings)
    return 0


def _seed(seed: int) -> None:
    """The tool draws from Python's generator; programs inherit both."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)


def _tell(search: Any, node: Any, settings: Settings, seconds: float) -> None:
    """A line about the step."""
    found = "buggy" + (f" ({node.exc_type})" if node.exc_type else "") if node.is_buggy else _metric(node)
    best = search.best_node()
    so_far = "none" if best is None else f"{_metric(best)} of step {best.step + 1}"
    print(
        f"step {node.step + 1} of {settings.steps}: {node.stage_name}, {found}; best {so_far}; {seconds:.0f} s",
        flush=True,
    )
    tools_best = search.journal.get_best_node()
    if tools_best is not None and tools_best is not best:
        print(f"  the best node, {_metric(tools_best)} of step {tools_best.step + 1}, wrote no submission", flush=True)


def _metric(node: Any) -> str:
    return f"{node.metric.value:.5g}{'↑' if node.metric.maximize else '↓'}"


def _tell_end(search: Any) -> None:
    ids = [node.id for node in search.journal.nodes]
    chosen = search.submissions.in_place
    if chosen is None:
        print("No step wrote a submission.", flush=True)
    else:
        step = f"step {ids.index(chosen) + 1}" if chosen in ids else "the step that was not finished"
        print(f"The submission is that of {step}, node {chosen}.", flush=True)


def _report(search: Any, settings: Settings) -> None:
    from aide import journal2report  # pyright: ignore[reportMissingImports]

    journal2report.query = search.ask
    try:
        text = journal2report.journal2report(search.journal, search.task, search.config.report)
        (settings.logs / "report.md").write_text(text, encoding="utf-8")
    except Exception as error:
        print(f"No report: {type(error).__name__}: {error}", flush=True)
