"""`mlebench prepare`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import (
    competitions_option,
    data_dir_option,
    edition_option,
    json_option,
    selected,
    selection_options,
)
from mlebench.cli.output import show_json, shown_progress

if TYPE_CHECKING:
    from mlebench.dataset import Dataset
    from mlebench.preparation.pipeline import Plan, Result, Task
    from mlebench.preparation.sources import Keep

FEW = 8  # competitions that a command names one by one
_CHOOSING = {"ids", "split_name", "ids_file", "everything", "lite"}


@click.command()
@selection_options
@click.option("-a", "--all", "everything", is_flag=True, help="All competitions, those for development too.")
@click.option("--lite", is_flag=True, help="The split lite.")
@click.option(
    "--source",
    default="kaggle",
    show_default=True,
    help="Where raw files come from: kaggle (downloads, with your account), synthetic, or PATH: a folder or zip as "
    "Kaggle delivers it, or a folder of such folders and zips named by id.",
)
@click.option("--rows", type=click.IntRange(min=10), help="About how many labelled examples a synthetic twin has.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of synthetic twins.")
@click.option(
    "--keep",
    type=click.Choice(["nothing", "zip", "raw"]),
    help="What stays beside the prepared files: nothing (the default; a zip of your own always stays), the downloaded "
    "zip, or the raw files, of which prepared ones are links where the file system can.",
)
@click.option("--keep-raw", is_flag=True, help="The same as --keep raw.")
@click.option("--verify/--skip-verification", default=None, help="Recompute all checksums, published ones too.")
@click.option("--jobs", type=click.IntRange(min=1), help="Preparations at a time. Default: by processors and memory.")
@click.option("--download-jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Downloads at a time.")
@click.option("--pages", is_flag=True, help="Also fetch the competitions' original pages from Kaggle, first.")
@click.option("--force", is_flag=True, help="Prepare again what is prepared.")
@edition_option
@competitions_option
@data_dir_option
@json_option
def prepare(
    ids: tuple[str, ...],
    split_name: str | None,
    ids_file: Path | None,
    everything: bool,
    lite: bool,
    source: str,
    rows: int | None,
    seed: int,
    keep: Keep | None,
    keep_raw: bool,
    verify: bool | None,
    jobs: int | None,
    download_jobs: int,
    pages: bool,
    force: bool,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Make the public and private files of competitions from raw ones.

    Competitions are prepared while others are downloaded, the smallest first. What is prepared already is left alone,
    and an interrupted call goes on where it stopped. A preparation that fails leaves nothing that looks prepared; the
    others go on, and the exit code is 1. Nothing is ever asked: competitions that Kaggle does not give to your account
    are listed at the end, with the page to open for each.

    \b
    Examples:
        mlebench prepare --lite
        mlebench prepare --all --source ~/kaggle-zips
        mlebench prepare -c spaceship-titanic --source ~/Downloads/spaceship-titanic.zip --verify
        mlebench prepare --split dev --source synthetic
    """
    from mlebench import catalog
    from mlebench.dataset import Dataset, default_data_dir
    from mlebench.preparation.pipeline import Task

    own = catalog.own_folders(folders)
    chosen = list(catalog.competitions(own).values()) if everything else []
    if lite:
        chosen += catalog.split("lite", own)
    if ids or split_name or ids_file or not chosen:
        chosen += selected(ids, split_name, ids_file, folders)
    kept: Keep = keep or ("raw" if keep_raw else "nothing")
    where = data_dir or default_data_dir()
    tasks = [
        Task(Dataset(competition.in_edition(edition), where), source, rows, seed, kept, force, bool(verify))
        for competition in {c.id: c for c in chosen}.values()
    ]
    problems = _fetch_pages([task.dataset for task in tasks], force) if pages else {}
    _prepare(tasks, jobs, download_jobs, as_json)
    if problems:
        raise click.exceptions.Exit(1)


def _fetch_pages(datasets: list[Dataset], force: bool) -> dict[str, str]:
    """Fetch the original pages that are not there, tell what went wrong, and return it by competition."""
    from mlebench.preparation.kaggle.pages import fetch_all_pages

    with shown_progress():
        problems = fetch_all_pages(datasets, force=force)
    for competition, problem in problems.items():
        click.echo(f"{competition}: original pages: {problem}", err=True)
    return problems


def _prepare(tasks: list[Task], jobs: int | None, download_jobs: int, as_json: bool) -> None:
    from mlebench.cli.progress_display import shown
    from mlebench.preparation.board import Board
    from mlebench.preparation.pipeline import Interrupted, prepare_many

    board, interrupted = Board(), False
    with shown(board) as display:
        try:
            results = prepare_many(
                *(tasks, jobs, download_jobs),
                on_result=lambda result: None if as_json else _say_result(result, len(tasks) == 1, display.say),
                on_plan=lambda plan: (
                    display.say(_plan(plan, tasks[0].dataset.data_dir), err=True) if plan.to_do else None
                ),
                board=board,
            )
        except Interrupted as stop:
            results, interrupted = stop.results, True
    if as_json:
        show_json([result.as_dict() for result in results])
    _say_summary(results, click.get_current_context())
    if interrupted:
        raise click.exceptions.Exit(130)
    if any(result.problems for result in results):
        raise click.exceptions.Exit(1)


def _plan(plan: Plan, data_dir: Path) -> str:
    """What is about to be done, and what it takes."""
    from mlebench.cli.progress_display import size

    others = [f"{plan.there} there already"] if plan.there else []
    others += [f"{plan.refused} not given out by Kaggle"] if plan.refused else []
    text = f"{plan.to_do} to prepare in {data_dir}" + (f" ({', '.join(others)})" if others else "")
    if plan.needs is None:
        return text
    needs, about = plan.needs, "" if plan.is_told else "about "
    text += (
        f"\n{about}{size(needs.download)} to download; disk: about {size(needs.peak)} at the peak and "
        f"{size(needs.final)} in the end, {size(plan.free)} free"
    )
    return text + ("\nThat may not be enough: what does not fit is told and left out" if needs.peak > plan.free else "")


def _say_result(result: Result, is_alone: bool, say: Callable[..., None]) -> None:
    path, files = result.facts.get("path"), result.facts.get("files")
    say(f"{result.competition}: {result.state}" + (f" in {path}" if path and is_alone else ""))
    if result.state == "verified":
        say(f"  {files} files as prepared, {result.facts['published_checksums']} published checksums equal")
    if result.facts.get("source") == "synthetic":
        say("  SYNTHETIC data: scores on it say nothing about humans")
    if unlike := result.facts.get("unlike_published"):
        say(f"  not as published: {', '.join(unlike[:3])}{' ...' if unlike[3:] else ''}; so the download stays")
        say("  --verify tells more")
    for problem in (*result.problems, *result.facts.get("notes", ())):
        say(f"  {problem}", err=True)


def _say_summary(results: list[Result], context: click.Context) -> None:
    """On standard error: how many are there, what is not and why, and the command that goes on."""
    from mlebench.cli.progress_display import size
    from mlebench.preparation.pipeline import STATES

    missing = [result for result in results if result.problems]
    if len(results) > 1:
        counts = {state: sum(result.state == state for result in results) for state in STATES}
        click.echo("\n" + ", ".join(f"{count} {state}" for state, count in counts.items() if count), err=True)
    if used := sum(result.facts.get("disk_bytes", 0) for result in results):
        click.echo(f"{size(used)} of disk used by what was prepared now", err=True)
    refused = [result for result in missing if result.page]
    if refused and len(results) > 1:
        click.echo("Kaggle does not give these to your account yet. Open each page, do what it asks:", err=True)
    for result in refused if len(results) > 1 else []:
        click.echo(f"  {result.page}  ({result.problems[0]})", err=True)
    if missing:
        click.echo(f"To go on: {_command(context, [result.competition for result in missing])}", err=True)


def _command(context: click.Context, missing: list[str]) -> str:
    """The same command for what is missing: what is there needs no --force again."""
    words = ["mlebench", "prepare"]
    is_few = len(missing) <= FEW or bool(context.params["force"])
    for option in context.command.params:
        name, value = str(option.name), context.params[str(option.name)]
        if context.get_parameter_source(name) != click.core.ParameterSource.COMMANDLINE or (
            name in _CHOOSING and is_few
        ):
            continue
        given = max((option.secondary_opts if value is False else option.opts), key=len)
        for one in value if isinstance(value, tuple) else (value,):
            words += [given] if isinstance(one, bool) else [given, str(one)]
    return shlex.join(words + [word for each in missing for word in ("-c", each) if is_few])
