"""Showing results as JSON, and the progress of long steps."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from mlebench.preparation import progress


def show_json(content: Any) -> None:
    """Print strict JSON on standard output: no NaN, no infinity."""
    from mlebench.files import strict

    click.echo(json.dumps(strict(content), indent=2, ensure_ascii=False, default=str))


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show the steps inside: bars on a terminal, plain lines elsewhere, both on standard error."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars, progress.shown_on(_Bars(bars)):
            yield
    else:
        with progress.shown_on(_Lines()):
            yield


class _Bars:
    """Steps as bars of rich."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars

    def start(self, text: str, total: int, unit: str) -> int:
        """Add a bar."""
        return self._bars.add_task(text, total=total)

    def advance(self, step: int, amount: int) -> None:
        """Move it."""
        self._bars.advance(step, amount)

    def finish(self, step: int) -> None:
        """Take it away."""
        self._bars.remove_task(step)


class _Lines:
    """Steps that take long as lines, at most one in ten seconds each."""

    EVERY = 10.0

    def __init__(self) -> None:
        self._steps: dict[int, list[Any]] = {}
        self._lock = threading.Lock()

    def start(self, text: str, total: int, unit: str) -> int:
        """Remember when it began."""
        with self._lock:
            handle = len(self._steps)
            self._steps[handle] = [text, total, 0, time.monotonic()]
        return handle

    def advance(self, step: int, amount: int) -> None:
        """Say how far it is, now and then."""
        with self._lock:
            facts = self._steps[step]
            facts[2] += amount
            if time.monotonic() - facts[3] > self.EVERY:
                facts[3] = time.monotonic()
                click.echo(f"{facts[0]}: {facts[2]:,} of {facts[1]:,}", err=True)

    def finish(self, step: int) -> None:
        """Nothing to say."""
