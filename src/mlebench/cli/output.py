"""Showing results: tables for people, JSON for programs; and the progress of long steps."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from mlebench.preparation import progress


def show_json(content: Any) -> None:
    """Print strict JSON on standard output: no NaN, no infinity."""
    click.echo(json.dumps(plain(content), indent=2, ensure_ascii=False, default=str))


def plain(content: Any) -> Any:
    """`content` with infinities and NaN as text, since JSON has no numbers for them."""
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    return content


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print a table; columns in `right` are aligned to the right. Elsewhere than on a terminal nothing is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


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

    def start(self, text: str, total: int) -> int:
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

    def start(self, text: str, total: int) -> int:
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
