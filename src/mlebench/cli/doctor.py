"""`mlebench doctor`: what this machine can do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import data_dir_option, json_option
from mlebench.cli.output import show_json
from mlebench.cli.runs import runs_dir_option, runs_folder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mlebench.doctor import Diagnosis, Finding

MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}
WIDE = 120  # where there is no terminal


@click.command()
@data_dir_option
@runs_dir_option
@json_option
@click.pass_context
def doctor(context: click.Context, data_dir: Path | None, runs_dir: Path | None, as_json: bool) -> None:
    """Say what this machine can do, and what to do about the rest.

    Nothing is changed, no network is used, and of keys only the names are told. The exit code is 1 if no sandbox
    that isolates agents works here.

    \b
    Examples:
        mlebench doctor
        mlebench doctor --json
    """
    from mlebench.dataset import default_data_dir
    from mlebench.doctor import examine, to_json

    diagnosis = examine(data_dir or default_data_dir(), runs_folder(runs_dir))
    if as_json:
        show_json(to_json(diagnosis))
    else:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else WIDE)
        with console.capture() as printed:
            render(diagnosis, console)
        for line in printed.get().splitlines():
            click.echo(line.rstrip())
    context.exit(0 if diagnosis.sandbox else 1)


def render(diagnosis: Diagnosis, console: Console) -> None:
    """Print each section as a table: mark, name, what was found, and below it what to do."""
    from rich.table import Table
    from rich.text import Text

    width = max(len(finding.name) for section in diagnosis.sections for finding in section.findings)
    for number, section in enumerate(diagnosis.sections):
        if number:
            console.print()
        console.print(Text(section.title, style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(width=3)
        table.add_column(width=width, no_wrap=True)
        table.add_column(overflow="fold")
        for finding in section.findings:
            mark, style = MARKS[finding.works]
            table.add_row(Text(f"  {mark}", style=style), finding.name, _words(finding))
        console.print(table)


def _words(finding: Finding) -> Text:
    from rich.text import Text

    text = Text(finding.text)
    if finding.advice:
        text.append("\n" + finding.advice, style="" if finding.works is False else "dim")
    return text
