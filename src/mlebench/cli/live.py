"""Watching a run: a live table on a terminal, a line for each finished attempt elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from mlebench.runs.instructions import duration
from mlebench.runs.store import AttemptFolder, AttemptState

_SHOWN = 20  # rows of the live table
Watcher = Callable[[Sequence[AttemptFolder]], None]


@contextmanager
def watched() -> Iterator[Watcher]:
    """A watcher for `mlebench.runs.runner.execute`, on standard error."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def watch(attempts: Sequence[AttemptFolder]) -> None:
            live.update(_table([(attempt, attempt.state()) for attempt in attempts]), refresh=True)

        yield watch


class _Lines:
    """Says once how each attempt ended; those that were done before are passed over in silence."""

    def __init__(self) -> None:
        self._said: set[AttemptFolder] | None = None

    def __call__(self, attempts: Sequence[AttemptFolder]) -> None:
        """Say what is new since the last call; the first call, before anything runs, only takes note."""
        finished = {attempt: state for attempt in attempts if (state := attempt.state()).state == "finished"}
        if self._said is None:
            self._said = {attempt for attempt, state in finished.items() if state.is_done}
        for attempt, state in finished.items():
            if attempt not in self._said:
                click.echo(f"{attempt.competition_id} seed {attempt.seed}: {_result(attempt, state)}", err=True)
        self._said |= finished.keys()


def _table(rows: list[tuple[AttemptFolder, AttemptState]]) -> Table:
    """Running attempts first, then the latest finished ones, then those that wait."""
    order = {"running": 0, "finished": 1, "pending": 2}
    done = sum(state.is_done for _, state in rows)
    table = Table(title=f"{done} of {len(rows)} attempts done", title_justify="left", box=None, pad_edge=False)
    for name in ("competition", "seed", "state", "time"):
        table.add_column(name)
    ordered = sorted(rows, key=lambda row: (order.get(row[1].state, 3), -(_timestamp(row[1].finished) or 0)))
    for attempt, state in ordered[:_SHOWN]:
        text = _result(attempt, state) if state.state == "finished" else state.state
        table.add_row(attempt.competition_id, str(attempt.seed), text, _elapsed(state))
    if len(rows) > _SHOWN:
        table.add_row(f"… and {len(rows) - _SHOWN} more", "", "", "")
    return table


def _result(attempt: AttemptFolder, state: AttemptState) -> str:
    """How it ended and what it is worth."""
    try:
        grade = json.loads(attempt.grade_path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return f"{state.end}" + (f" ({state.message.splitlines()[-1][:200]})" if state.message else "")
    if grade["score"] is None:
        return f"{state.end}, no valid submission: {grade['reason'][:200]}"
    medal = next((name for name in ("gold", "silver", "bronze") if grade[f"{name}_medal"]), "no medal")
    mark = ", SYNTHETIC" if grade["source"] == "synthetic" else ""
    return f"{state.end}, score {grade['score']}, {medal}{mark}"


def _elapsed(state: AttemptState) -> str:
    if state.seconds is not None:
        return duration(state.seconds)
    started = _timestamp(state.started)
    return duration(time.time() - started) if started and state.state == "running" else ""


def _timestamp(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
