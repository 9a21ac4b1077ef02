"""`mlebench demo`: the whole way from raw files to a medal table, on made-up data."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.output import shown_progress

if TYPE_CHECKING:
    from mlebench.competition import Competition

COMPETITIONS = (  # a table, a text, images, masks
    "spaceship-titanic",
    "spooky-author-identification",
    "aptos2019-blindness-detection",
    "tgs-salt-identification-challenge",
)
AGENTS = ("sample", "baseline")
TIME_LIMIT = 120.0  # seconds of an attempt
NEXT = (
    ("list", "all competitions"),
    ("show spaceship-titanic", "task, metric, medal table"),
    ("prepare -c spaceship-titanic --source FILE", "real data: the zip you got from Kaggle"),
    ("doctor", "what this machine can do: sandboxes, models, agents"),
    ("agents build aide", "an agent with a language model, which docs/agents.md shows how to run"),
)


@click.command()
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("mlebench-demo"),
    show_default=True,
    help="Where data and runs go.",
)
def demo(into: Path) -> None:
    """See it work: four synthetic competitions, two agents, a medal table and a page.

    Prepares synthetic twins of a table, a text, an image and a mask competition, runs the agents `sample` and
    `baseline` on them in a sandbox, validates, grades and reports. Needs neither account nor network.
    """
    from rich.console import Console

    from mlebench import catalog
    from mlebench.report import render_terminal, write_html

    competitions = [catalog.get(competition_id) for competition_id in COMPETITIONS]
    _step(f"1. Preparing synthetic twins of {len(competitions)} competitions in {into / 'data'}")
    _prepare(competitions, into / "data")
    console = Console(width=None if sys.stdout.isatty() else 140)
    pages = []
    for number, agent in enumerate(AGENTS, start=2):
        _step(f"{number}. Running the agent {agent}")
        run = _run(agent, competitions, into)
        render_terminal(run, console)
        pages.append(write_html(run, run / "report.html"))
    _step("Done. The same as pages, each one file that needs nothing else:")
    for page in pages:
        click.echo(f"   {page}")
    _step("What to type next:")
    program = "mlebench" if shutil.which("mlebench") else os.path.relpath(sys.argv[0])
    for command, result in NEXT:
        click.echo(f"   {program} {command:52}  {result}")


def _prepare(competitions: list[Competition], data_dir: Path) -> None:
    from mlebench.dataset import Dataset
    from mlebench.preparation.engine import prepare
    from mlebench.preparation.sources import Synthetic

    with shown_progress():
        for competition in competitions:
            made = prepare(Dataset(competition, data_dir), Synthetic())
            click.echo(f"   {competition.id}: {'prepared' if made else 'was prepared already'}")


def _run(agent: str, competitions: list[Competition], into: Path) -> Path:
    from mlebench.cli.live import watched
    from mlebench.runs.runner import execute, plan_run

    run, warnings = plan_run(
        agent=agent,
        competitions=competitions,
        data_dir=into / "data",
        runs_dir=into / "runs",
        time_limit_seconds=TIME_LIMIT,
        workers=min(4, os.cpu_count() or 1),
    )
    for warning in warnings:
        click.secho(f"Warning: {warning}", fg="yellow", err=True)
    with watched() as watch:
        execute(run, watch)
    return run


def _step(text: str) -> None:
    click.secho(f"\n{text}", bold=True)
