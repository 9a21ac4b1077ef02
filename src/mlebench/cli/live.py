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
from mlebench.runs.observation import TELEMETRY_SECONDS, last_telemetry
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
            live.update(status_table(attempts, rows=_SHOWN), refresh=True)

        yield watch


class _Lines:
    """Says once how each try ended; what had ended before is passed over in silence."""

    def __init__(self) -> None:
        self._said: dict[AttemptFolder, tuple[str | None, str | None]] | None = None

    def __call__(self, attempts: Sequence[AttemptFolder]) -> None:
        """Say what is new since the last call; the first call, before anything runs, only takes note."""
        finished = {attempt: state for attempt in attempts if (state := attempt.state()).state == "finished"}
        now = {attempt: (state.end, state.finished) for attempt, state in finished.items()}
        before = now if self._said is None else self._said
        for attempt, state in finished.items():
            if before.get(attempt) != now[attempt]:
                click.echo(f"{attempt.competition_id} seed {attempt.seed}: {_result(attempt, state)}", err=True)
        self._said = before | now


def status_table(attempts: Sequence[AttemptFolder], running: bool = True, rows: int | None = None) -> Table:
    """Running attempts first, then the latest finished ones, then those that wait; at most `rows`.

    If nobody is working on the run, attempts that were running were cut off.
    """
    order = {"running": 0, "sealed": 0, "finished": 1, "pending": 2}
    found = [(attempt, attempt.state()) for attempt in attempts]
    done = sum(state.is_done for _, state in found)
    idle = not running and done < len(found)
    title = f"{done} of {len(found)} attempts done" + ("; nobody is working on the others" if idle else "")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("competition", "seed", "state", "time", "memory", "disk", "CPUs", "requests", "$"):
        table.add_column(name)
    found.sort(key=lambda row: (order.get(row[1].state, 3), -(_timestamp(row[1].finished) or 0)))
    for attempt, state in found[:rows]:
        table.add_row(attempt.competition_id, str(attempt.seed), *_cells(attempt, state, running))
    if rows is not None and len(found) > rows:
        table.add_row(f"… and {len(found) - rows} more", "", "", "")
    return table


def _cells(attempt: AttemptFolder, state: AttemptState, running: bool) -> tuple[str, ...]:
    last = last_telemetry(attempt.path) if state.state == "running" else {}
    use = state.model_use or last.get("model", {})
    spent = (str(use.get("requests", "")), f"{use['dollars']:.2f}" if use.get("dollars") else "")
    if state.state == "finished":
        return (
            _result(attempt, state),
            _elapsed(state),
            _gigabytes(state.peak_memory_bytes),
            _gigabytes(state.peak_disk_bytes),
            "",
            *spent,
        )
    if state.state != "running":
        return state.state, "", "", "", "", *spent
    word = "running" if running else "cut off"
    if last.get("age", 0) > 3 * TELEMETRY_SECONDS:
        word += f" (no sign of life for {duration(last['age'])})"
    cpus = f"{last['cpu_seconds'] / last['seconds']:.1f}" if last.get("seconds") else ""
    return word, _elapsed(state), _gigabytes(last.get("memory_bytes")), _gigabytes(last.get("disk_bytes")), cpus, *spent


def _gigabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e9:.2f} GB"


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
