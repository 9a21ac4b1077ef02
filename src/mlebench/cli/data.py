"""`mlebench data`: what the data take on disk, and removing what is not needed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import competitions_option, data_dir_option, json_option
from mlebench.cli.output import show_json, shown_progress

if TYPE_CHECKING:
    from mlebench.preparation.disk import Usage
    from mlebench.preparation.disk.cleaning import Cleaning
    from mlebench.preparation.verification import Mismatch

INDENT = 12  # where the text after a size begins
_NO_BREAK = "\N{NO-BREAK SPACE}"

ids_option = click.option(
    "-c",
    "--competition-id",
    "ids",
    multiple=True,
    help="Only this competition; repeatable. Default: all that are there.",
)


@click.group()
def data() -> None:
    """Say what the data take on disk, or remove what is not needed.

    \b
    Examples:
        mlebench data du
        mlebench data clean --dry-run
        mlebench data clean --zips --partial
    """


@data.command()
@ids_option
@click.option("--check", is_flag=True, help="Also look whether all prepared files are there with the sizes they had.")
@competitions_option
@data_dir_option
@json_option
def du(ids: tuple[str, ...], check: bool, folders: tuple[Path, ...], data_dir: Path | None, as_json: bool) -> None:
    """Say what each competition takes on disk, the largest first.

    Counted are blocks, each file once however many names it has: what is linked is stored once. --check takes
    seconds where "mlebench prepare --verify" reads every byte; the exit code is 1 if something is wrong.
    """
    from mlebench.dataset import default_data_dir
    from mlebench.preparation.disk import usage

    with shown_progress():
        found = usage(data_dir or default_data_dir(), ids)
    wrong = _wrong(found, folders) if check else {}
    if as_json:
        checked = {"mismatches": {name: [asdict(each) for each in mismatches] for name, mismatches in wrong.items()}}
        show_json(_usage_as_json(found) | (checked if check else {}))
    else:
        _print_usage(found)
        _print_wrong(wrong)
    if any(wrong.values()):
        raise click.exceptions.Exit(1)


@data.command()
@ids_option
@click.option(
    "--leftovers", is_flag=True, help="What killed preparations left and nothing can go on with. Always done."
)
@click.option(
    "--zips", is_flag=True, help="Archives and files that were downloaded, where the competition is prepared."
)
@click.option("--raw", is_flag=True, help="Raw files that were kept, where the competition is prepared.")
@click.option("--partial", is_flag=True, help="Downloads and extractions that were interrupted and could go on.")
@click.option(
    "--all", "everything", is_flag=True, help="With --zips, --raw: also your own, and where nothing is prepared."
)
@click.option("--prepared", multiple=True, metavar="ID", help="The prepared files of ID, both editions; repeatable.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@data_dir_option
@json_option
def clean(
    ids: tuple[str, ...],
    leftovers: bool,  # noqa: ARG001 - said for those who want to say it
    zips: bool,
    raw: bool,
    partial: bool,
    everything: bool,
    prepared: tuple[str, ...],
    dry_run: bool,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Remove what is not needed, and say what that freed.

    Without options only garbage goes: what killed preparations left behind. Nothing is touched where another process
    is preparing or downloading. Prepared files go only where --prepared names the competition.

    \b
    Examples:
        mlebench data clean --dry-run
        mlebench data clean --zips --partial
        mlebench data clean --prepared spaceship-titanic
    """
    from mlebench.dataset import default_data_dir
    from mlebench.errors import UsageError
    from mlebench.preparation.disk.cleaning import Wanted, clean

    if everything and not (zips or raw):
        raise UsageError("--all goes with --zips or --raw: it says that your own files go too")
    wanted = Wanted(zips, raw, partial, everything, prepared)
    folder = data_dir or default_data_dir()
    done = clean(folder, wanted, ids, dry_run=dry_run)
    if as_json:
        show_json(_cleaning_as_json(done, dry_run))
    else:
        _print_cleaning(done, folder, dry_run)


def _wrong(found: Usage, folders: tuple[Path, ...]) -> dict[str, list[Mismatch]]:
    """What is wrong at first sight, by competition and edition; of those that are known and prepared."""
    from mlebench import catalog
    from mlebench.dataset import Dataset
    from mlebench.errors import MlebenchError
    from mlebench.preparation.verification import Mismatch, look_quickly

    known = catalog.competitions(catalog.own_folders(folders))
    wrong = {}
    for use in found.competitions:
        for edition in known[use.competition].editions if use.competition in known else ():
            dataset = Dataset(known[use.competition].in_edition(edition), found.data_dir)
            if not dataset.is_prepared:
                continue
            name = f"{use.competition}/{dataset.prepared.name}"
            try:
                wrong[name] = look_quickly(dataset)
            except MlebenchError as error:  # the others are looked at nevertheless
                wrong[name] = [Mismatch("manifest.json", "one of this version", "another", "changed", str(error))]
    return wrong


def _print_wrong(wrong: dict[str, list[Mismatch]]) -> None:
    from mlebench.preparation.verification import explain

    for name, mismatches in wrong.items():
        for text in explain(mismatches):
            click.echo(f"{name}/{text}", err=True)
    if wrong and not any(wrong.values()):
        click.echo(f"all files of {len(wrong)} prepared data sets are there with their sizes")


def _print_usage(found: Usage) -> None:
    for use in found.competitions:
        _say(use.total, f"{use.competition}: {_kinds(use.kinds)}")
    if not found.competitions:
        click.echo(f"no data in {found.data_dir}")
        return
    if len(found.competitions) > 1:
        click.echo()
        _say(found.total, f"in all: {_kinds(found.kinds)}")
    if found.saved:
        _say(found.saved, "saved by links: what is the same is stored once")
    _say(found.free, f"free on the disk of {found.data_dir}")
    if "work" in found.kinds:
        click.echo('"mlebench data clean" removes of "work" what killed preparations left')


def _print_cleaning(done: Cleaning, data_dir: Path, dry_run: bool) -> None:
    for removal in done.removed:
        _say(removal.bytes, str(removal.path.relative_to(data_dir)))
    for spared in done.spared:
        _say(None, f"{spared.path.relative_to(data_dir)} stays: {spared.reason}")
    if not done.removed:
        click.echo("nothing to remove")
        return
    _say(done.bytes, "would be freed" if dry_run else "freed")


def _kinds(kinds: dict[str, int]) -> str:
    """Of one kind its name, of several each with its size."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return ", ".join(f"{kind} {_size(count)}".replace(" ", _NO_BREAK) for kind, count in kinds.items())


def _say(count: int | None, text: str) -> None:
    """A line that begins with a size; what does not fit goes on below."""
    import shutil
    import textwrap

    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 10_000
    lines = textwrap.wrap(text, max(width - INDENT, 20), break_long_words=False, break_on_hyphens=False) or [""]
    first = "" if count is None else _size(count)
    for number, line in enumerate(lines):
        click.echo(f"{'' if number else first:>{INDENT - 2}}  {line.replace(_NO_BREAK, ' ')}")


def _size(count: int) -> str:
    from mlebench.cli.progress_display import size

    return size(count)


def _usage_as_json(found: Usage) -> dict[str, object]:
    competitions = [{"total": use.total, **asdict(use)} for use in found.competitions]
    return {
        "data_dir": str(found.data_dir),
        "total": found.total,
        "saved_by_links": found.saved,
        "free": found.free,
        "kinds": found.kinds,
        "competitions": competitions,
    }


def _cleaning_as_json(done: Cleaning, dry_run: bool) -> dict[str, object]:
    return {"dry_run": dry_run, "freed": done.bytes, **asdict(done)}
