"""`mlebench runs`, `status`, `logs` and `stop`: what is going on in the runs folder."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click

from mlebench.cli.options import json_option
from mlebench.cli.output import show_json
from mlebench.cli.runs import find_run, runs_dir_option, runs_folder
from mlebench.errors import MlebenchError, UsageError

LOGS = {
    "output": "output.txt",
    "gateway": "gateway.jsonl",
    "validations": "validations.jsonl",
    "telemetry": "telemetry.jsonl",
    "prompt": "prompt.txt",
}


@click.command()
@runs_dir_option
@json_option
def runs(runs_dir: Path | None, as_json: bool) -> None:
    """List the runs, latest first."""
    from rich.console import Console
    from rich.table import Table

    folder = runs_folder(runs_dir)
    found = [_summary(path.parent) for path in folder.glob("*/run.json")]
    found.sort(key=lambda entry: str(entry["created"]), reverse=True)
    if as_json:
        show_json(found)
        return
    if not found:
        click.echo(f'There are no runs in {folder}. "mlebench run" makes one.', err=True)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "agent", "model", "state", "done", "medals"):
        table.add_column(name, overflow="fold")
    for entry in found:
        done = f"{entry.get('done', '?')} of {entry.get('planned', '?')}"
        cells = (entry["id"], entry.get("agent"), entry.get("model"), entry["state"], done, entry.get("medals"))
        table.add_row(*("" if cell is None else str(cell) for cell in cells))
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _summary(run: Path) -> dict[str, object]:
    """A run in a line. One that is broken is listed too, with the reason as its state."""
    from mlebench.runs.runner import is_running
    from mlebench.runs.store import attempts, read_config

    try:
        config = read_config(run)
        states = [(attempt, attempt.state()) for attempt in attempts(run, config)]
    except MlebenchError as error:
        return {"id": run.name, "created": "", "state": str(error)}
    done = sum(state.is_done for _, state in states)
    ended = "complete" if done == len(states) else "stopped"
    return {
        "id": run.name,
        "created": config.created,
        "agent": Path(config.agent).name,
        "model": config.model,
        "state": "running" if is_running(run) else ended,
        "done": done,
        "planned": len(states),
        "medals": sum(_has_medal(attempt.grade_path) for attempt, _ in states),
        "folder": str(run),
    }


def _has_medal(grade: Path) -> bool:
    try:
        return bool(json.loads(grade.read_text(encoding="utf-8")).get("any_medal"))
    except (OSError, ValueError):
        return False


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option("--follow", "-f", is_flag=True, help="Go on showing until the run has ended.")
@runs_dir_option
@json_option
def status(run_name: str, follow: bool, runs_dir: Path | None, as_json: bool) -> None:
    """Show how far RUN is: each attempt's state, time, memory, disk, and use of the model.

    On a terminal with --follow the table stays up to date; a runner on another machine is seen through its files.
    """
    from rich.console import Console
    from rich.live import Live

    from mlebench.cli.live import status_table
    from mlebench.runs.observation import last_telemetry
    from mlebench.runs.runner import is_running
    from mlebench.runs.store import attempts, read_config

    run = find_run(run_name, runs_folder(runs_dir))
    everything = attempts(run, read_config(run))
    if as_json:
        states = [(attempt, attempt.state()) for attempt in everything]
        content = [
            {**asdict(state), "telemetry": last_telemetry(attempt.path) if state.state == "running" else {}}
            for attempt, state in states
        ]
        show_json({**_summary(run), "attempts": content})
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    if not follow:
        console.print(status_table(everything, is_running(run)))
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            running = is_running(run)
            live.update(status_table(everything, running), refresh=True)
            if not running:
                break
            time.sleep(1)


@click.command()
@click.argument("run_name", metavar="RUN")
@click.argument("competition_id", metavar="ID")
@click.argument("seed", type=click.IntRange(min=0), default=0)
@click.option("--follow", "-f", is_flag=True, help="Go on showing until the attempt has ended.")
@click.option("--lines", "-n", type=click.IntRange(min=0), help="Only the last lines. Default: all.")
@click.option("--of", "which", type=click.Choice(list(LOGS)), default="output", show_default=True, help="Which record.")
@runs_dir_option
def logs(
    run_name: str, competition_id: str, seed: int, follow: bool, lines: int | None, which: str, runs_dir: Path | None
) -> None:
    """Show what the agent of an attempt printed, or another record of it."""
    from mlebench.runs.store import AttemptFolder

    run = find_run(run_name, runs_folder(runs_dir))
    attempt = AttemptFolder(run, competition_id, seed)
    _require_planned(run, attempt.competition_id, seed)
    path = attempt.path / LOGS[which]
    if not path.exists() and not follow:
        raise UsageError(f"there is no {path} (the attempt is {attempt.state().state})")
    for block in _tail(path, lines, lambda: follow and attempt.state().state in ("pending", "running")):
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()


def _require_planned(run: Path, competition_id: str, seed: int) -> None:
    from mlebench.runs.store import attempts, read_config

    planned = attempts(run, read_config(run))
    if not any((attempt.competition_id, attempt.seed) == (competition_id, seed) for attempt in planned):
        ids = sorted({attempt.competition_id for attempt in planned})
        raise UsageError(
            f"{run.name} has no attempt {competition_id} {seed}; it has seeds 0 to "
            f"{max(attempt.seed for attempt in planned)} of {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}"
        )


def _tail(path: Path, lines: int | None, goes_on: Callable[[], bool]) -> Iterator[bytes]:
    """The content of a file, what is added meanwhile too, as long as `goes_on()`."""
    while not path.exists() and goes_on():
        time.sleep(0.2)
    if not path.exists():
        return
    with path.open("rb") as file:
        if lines is not None:
            yield b"".join(file.read().splitlines(keepends=True)[-lines:] if lines else [])
            file.seek(0, os.SEEK_END)
        while True:
            more = goes_on()
            while block := file.read(1 << 16):
                yield block
            if not more:
                return
            time.sleep(0.2)


@click.command()
@click.argument("run_name", metavar="RUN")
@click.argument("competition_id", metavar="[ID", required=False)
@click.argument("seed", metavar="[SEED]]", type=click.IntRange(min=0), required=False)
@runs_dir_option
def stop(run_name: str, competition_id: str | None, seed: int | None, runs_dir: Path | None) -> None:
    """Stop RUN, or one attempt of it, cleanly.

    Agents get SIGTERM, and what they were doing is done again on resume. The runner may be on another machine that
    shares the folder; it looks for the request about twice a second.
    """
    from mlebench.runs.runner import is_running, stop_path
    from mlebench.runs.store import AttemptFolder, attempts, read_config

    run = find_run(run_name, runs_folder(runs_dir))
    if competition_id is None:
        if not is_running(run) and not _looks_alive(run):
            raise UsageError(f"nothing is running in {run}")
        stop_path(run).touch()
        click.echo(f'{run.name} is asked to stop. "mlebench run --resume {run}" goes on with it.', err=True)
        return
    seeds = (
        [seed]
        if seed is not None
        else sorted({each.seed for each in attempts(run, read_config(run)) if each.competition_id == competition_id})
    )
    running = []
    for number in seeds or [0]:
        _require_planned(run, competition_id, number)
        attempt = AttemptFolder(run, competition_id, number)
        if attempt.state().state == "running":
            attempt.stop_path.touch()
            running.append(number)
    if not running:
        raise UsageError(f"no attempt on {competition_id} is running in {run}")
    click.echo(f"{competition_id} seed {', '.join(map(str, running))}: asked to stop", err=True)


def _looks_alive(run: Path) -> bool:
    """Whether an attempt gave a sign of life lately, for a runner on another machine."""
    from mlebench.runs.observation import TELEMETRY_SECONDS, last_telemetry
    from mlebench.runs.store import attempts, read_config

    running = [attempt for attempt in attempts(run, read_config(run)) if attempt.state().state == "running"]
    return any(last_telemetry(attempt.path).get("age", 1e9) < 3 * TELEMETRY_SECONDS for attempt in running)
