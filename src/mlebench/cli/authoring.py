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
    from mlebench.audit.overview import Checked
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
@click.option("--all", "everything", is_flag=True, help="Check all competitions, in both editions.")
@click.option(
    "--leaks",
    "probes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of leak probes to try as well. Default with --all: that of the checkout, if this is one.",
)
@click.option("--baseline", is_flag=True, help="Run the agent baseline on all twins, too (some minutes).")
@click.option("--workers", type=click.IntRange(min=1), help="How many at once. Default: the number of CPUs.")
@competitions_option
@json_option
def check(
    competition: str | None,
    everything: bool,
    probes: Path | None,
    baseline: bool,
    workers: int | None,
    folders: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Check that a competition, by id or path, holds all it must.

    Its synthetic twin is prepared in a temporary folder, and everything that our own competitions hold is tried
    on it, in each edition that it has. The exit code is 1 if a check fails.

    \b
    Examples:
        mlebench check my-competitions/river-levels
        mlebench check --all --baseline
    """
    from mlebench.audit.overview import DEFAULT_PROBES, Overview, check_all, try_baseline, try_probes

    own = catalog.own_folders(folders)
    chosen = _chosen(competition, everything, own)
    if probes is None and everything and DEFAULT_PROBES.is_dir():
        probes = DEFAULT_PROBES
    overview = Overview(len(chosen))
    for item in check_all(chosen, workers):
        overview.checked.append(item)
        if not as_json:
            _print_checked(item, everything)
    if probes:
        overview.probes = try_probes(probes, chosen, workers)
    if baseline:
        overview.attempts = try_baseline(chosen, workers)
    if as_json:
        show_json(asdict(overview))
    elif everything or probes or baseline:
        for line in overview.lines():
            click.echo(line)
    if not overview.good:
        raise click.exceptions.Exit(1)


def _chosen(competition: str | None, everything: bool, own: tuple[Path, ...]) -> list[Competition]:
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


def _print_checked(item: Checked, briefly: bool) -> None:
    """A line for each check; briefly, one for the competition and those of checks that did not pass."""
    name = f"{item.competition} {item.edition}"
    if briefly:
        counts = {status: sum(result.status == status for result in item.results) for status in _MARKS}
        click.echo(f"{name}: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count))
    else:
        click.echo(name)
    for result in item.results:
        if not briefly or result.status != "passed":
            reason = f": {result.reason}" if result.reason else ""
            click.echo(f"  {_MARKS[result.status]} {result.check.replace('_', ' ')}{reason}")
