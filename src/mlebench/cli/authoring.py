"""`mlebench new` and `mlebench check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench import catalog
from mlebench.cli.options import competitions_option, json_option
from mlebench.cli.output import show_json
from mlebench.errors import UsageError

if TYPE_CHECKING:
    from mlebench.competition import Competition

_TEMPLATE = Path(catalog.__file__).parent / "templates" / "competition"


@click.command()
@click.argument("competition_id", metavar="ID")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder of your competitions. Default: this one.",
)
def new(competition_id: str, into: Path) -> None:
    """Write the skeleton of a new competition.

    Makes the folder ID with a small working competition in it, its files commented: change them one by one, and
    run "mlebench check" in between.
    """
    import re
    import shutil

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", competition_id):
        raise UsageError(f"{competition_id!r} is no good id: use letters, digits, - and _")
    folder = into / competition_id
    if folder.exists():
        raise UsageError(f"{folder} exists already")
    shutil.copytree(_TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    click.echo(f"wrote {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    click.echo(f"next: mlebench check {folder}")


@click.command()
@click.argument("competition", required=False)
@click.option("--all", "everything", is_flag=True, help="Check all competitions.")
@competitions_option
@json_option
def check(competition: str | None, everything: bool, folders: tuple[Path, ...], as_json: bool) -> None:
    """Check that a competition, by id or path, holds all it must.

    Its synthetic twin is prepared in a temporary folder, and everything that our own competitions hold is tried
    on it. The exit code is 1 if a check fails.
    """
    from mlebench.checks import check_competition

    chosen = _chosen(competition, everything, folders)
    results = {}
    for item in chosen:
        found = []
        for result in check_competition(item):
            found.append(asdict(result))
            if not as_json and len(chosen) == 1:
                _print(result.check, result.status, result.reason)
        results[item.id] = found
        if not as_json and len(chosen) > 1:
            _print_summary(item.id, found)
    if as_json:
        show_json(results)
    if any(result["status"] == "failed" for found in results.values() for result in found):
        raise click.exceptions.Exit(1)


def _chosen(competition: str | None, everything: bool, folders: tuple[Path, ...]) -> list[Competition]:
    own = catalog.own_folders(folders)
    if everything:
        return list(catalog.competitions(own).values())
    if competition is None:
        raise UsageError("name a competition by its id or path, or use --all")
    path = Path(competition)
    if catalog.is_competition(path):
        return [catalog.load(path)]
    if path.is_dir():
        raise UsageError(f"{path} is no competition: it has no competition.toml")
    return [catalog.get(competition, own)]


_MARKS = {"passed": "✓", "failed": "✗", "excepted": "–"}


def _print(check_name: str, status: str, reason: str) -> None:
    click.echo(f"{_MARKS[status]} {check_name.replace('_', ' ')}" + (f": {reason}" if reason else ""))


def _print_summary(competition_id: str, results: list[dict[str, str]]) -> None:
    counts = {status: sum(result["status"] == status for result in results) for status in _MARKS}
    click.echo(f"{competition_id}: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count))
    for result in results:
        if result["status"] != "passed":
            click.echo("  ", nl=False)
            _print(result["check"], result["status"], result["reason"])
