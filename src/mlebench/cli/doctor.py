"""`mlebench doctor`: what this machine can do, and what preparing data takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import (
    competitions_option,
    data_dir_option,
    edition_option,
    json_option,
    selected_widely,
    wide_selection_options,
)
from mlebench.cli.output import show_json, shown_progress
from mlebench.cli.runs import runs_dir_option, runs_folder
from mlebench.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mlebench.doctor import Diagnosis, Finding
    from mlebench.preparation.kaggle.readiness import Readiness

MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}
WIDE = 120  # where there is no terminal
AT_ONCE = 10  # pages


@click.command()
@wide_selection_options
@click.option(
    "--open",
    "open_pages",
    is_flag=True,
    help=f"Open the pages where rules are still to be accepted in the browser, in order, at most {AT_ONCE} at once.",
)
@click.option("--fresh", is_flag=True, help="Ask Kaggle also about competitions that were open in the last 30 days.")
@edition_option
@competitions_option
@data_dir_option
@runs_dir_option
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    ids: tuple[str, ...],
    split_name: str | None,
    ids_file: Path | None,
    everything: bool,
    lite: bool,
    open_pages: bool,
    fresh: bool,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    runs_dir: Path | None,
    as_json: bool,
) -> None:
    """Say what this machine can do, and what to do about the rest.

    With competitions named, also what preparing them takes: credentials for Kaggle, accepted rules, room, time.
    Kaggle is asked about those that are neither prepared nor downloaded, and a few megabytes are read to measure the
    speed; what is open is remembered. Without, no network is used. Nothing else is changed, and of keys only the
    names are told.

    The exit code is 1 if no sandbox that isolates agents works here, or if something named can't be prepared.

    \b
    Examples:
        mlebench doctor
        mlebench doctor --split lite --open
        mlebench doctor --all --json
    """
    from mlebench.dataset import Dataset, default_data_dir
    from mlebench.doctor import examine, to_json

    chosen = selected_widely(ids, split_name, ids_file, everything, lite, folders)
    if open_pages and not chosen:
        raise UsageError("--open opens the pages of competitions: name some by -c ID, --split NAME or --all")
    data_dir = data_dir or default_data_dir()
    datasets = [Dataset(competition.in_edition(edition), data_dir) for competition in chosen]
    with shown_progress():
        diagnosis = examine(data_dir, runs_folder(runs_dir), datasets=datasets, fresh=fresh)
    if as_json:
        show_json(to_json(diagnosis))
    else:
        _print(diagnosis)
    if open_pages and diagnosis.data is not None:
        _open(diagnosis.data, are_listed=not as_json)
    context.exit(0 if diagnosis.is_well else 1)


def _print(diagnosis: Diagnosis) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDE)
    with console.capture() as printed:
        render(diagnosis, console)
    for line in printed.get().splitlines():
        click.echo(line.rstrip())


def render(diagnosis: Diagnosis, console: Console) -> None:
    """Print each section as a table: mark, name, what was found, and below it what to do and where."""
    from rich.text import Text

    width = max(len(finding.name) for section in diagnosis.sections for finding in section.findings)
    for number, section in enumerate(diagnosis.sections):
        if number:
            console.print()
        console.print(Text(section.title, style="bold"))
        for finding in section.findings:
            _render(finding, width, console)


def _render(finding: Finding, width: int, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    mark, style = MARKS[finding.works]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(width=3)
    table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(f"  {mark}", style=style), finding.name, _words(finding))
    console.print(table)
    for line in finding.lines:  # never broken: they are to be clicked and copied
        console.print(Text(f"    {line}"), soft_wrap=True)


def _words(finding: Finding) -> Text:
    from rich.text import Text

    text = Text(finding.text)
    if finding.advice:
        text.append("\n" + finding.advice, style="" if finding.works is False else "dim")
    return text


def _open(data: Readiness, are_listed: bool) -> None:
    """Open the first pages in the browser; where there is none, name all, unless they `are_listed` above.

    Says so on standard error: on standard output there may be JSON.
    """
    import webbrowser

    opened = [page for page in data.pages[:AT_ONCE] if _has_browser() and webbrowser.open(page)]
    click.echo("\n" + "\n".join(_of_opening(data, opened, are_listed)), err=True)


def _of_opening(data: Readiness, opened: Sequence[str], are_listed: bool) -> list[str]:
    if not data.pages and data.account.problem:
        return ["Kaggle was not asked: it is not known which pages are to be opened."]
    if not data.pages:
        return ["No page is to be opened."]
    if not opened and are_listed:
        return ["No browser can be started here: open the pages above yourself."]
    if not opened:
        return ["No browser can be started here. Open yourself:", *data.pages]
    left = len(data.pages) - len(opened)
    more = [f"{left} more are left: when these are done, call this again for the next."] if left else []
    return ["Opened in the browser:", *opened, *more]


def _has_browser() -> bool:
    """Whether a window can be opened: one inside the terminal would have to be left ten times."""
    graphical = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(graphical or os.environ.get("BROWSER"))
