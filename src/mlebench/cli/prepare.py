"""`mlebench prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import (
    NOTHING_NAMED,
    competitions_option,
    data_dir_option,
    edition_option,
    json_option,
    selected_widely,
    wide_selection_options,
)
from mlebench.cli.output import show_json, shown_progress
from mlebench.errors import UsageError

if TYPE_CHECKING:
    from mlebench.dataset import Dataset
    from mlebench.preparation.pipeline import Task
    from mlebench.preparation.sources import Keep


@click.command()
@wide_selection_options
@click.option(
    "--source",
    default="kaggle",
    show_default=True,
    help="Where raw files come from: kaggle (downloads, with your account), synthetic, or PATH: a competition's "
    "archive (zip, 7z, tar.gz), a folder of its raw files, or a folder of several of these named by id, as a data "
    "directory is (the original's too: its prepared files are taken over if they are all there is and as published).",
)
@click.option("--rows", type=click.IntRange(min=10), help="About how many labelled examples a synthetic twin has.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of synthetic twins.")
@click.option(
    "--keep",
    type=click.Choice(["nothing", "zip", "raw"]),
    help="What stays beside the prepared files: nothing (the default), the downloaded zip, or the raw files, of which "
    "prepared ones are links where the file system can. Either serves the other edition, or --force, without another "
    "download. A zip of your own stays in any case, and what an earlier call kept until mlebench data clean removes "
    "it.",
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
    from mlebench.dataset import Dataset, default_data_dir
    from mlebench.preparation.pipeline import Task

    chosen = selected_widely(ids, split_name, ids_file, everything, lite, folders)
    if not chosen:
        raise UsageError(NOTHING_NAMED)
    if keep_raw and keep not in (None, "raw"):
        raise click.UsageError(f"--keep-raw is --keep raw, and --keep {keep} says something else")
    kept: Keep = keep or ("raw" if keep_raw else "nothing")
    where = data_dir or default_data_dir()
    tasks = [
        Task(Dataset(competition.in_edition(edition), where), source, rows, seed, kept, force, bool(verify))
        for competition in chosen
    ]
    try:
        problems = _fetch_pages([task.dataset for task in tasks], force) if pages else {}
        _prepare(tasks, jobs, download_jobs, as_json)
    except KeyboardInterrupt as error:  # while nobody catches it as a wish to stop
        raise click.exceptions.Exit(130) from error
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
    from mlebench.cli.preparing import plan_text, say_result, say_summary
    from mlebench.cli.progress_display import shown
    from mlebench.preparation.pipeline import Interrupted, prepare_many
    from mlebench.preparation.pipeline.board import Board

    board, interrupted = Board(), False
    with shown(board) as display:
        try:
            results = prepare_many(
                *(tasks, jobs, download_jobs),
                on_result=lambda result: None if as_json else say_result(result, len(tasks) == 1, display.say),
                on_plan=lambda plan: (
                    display.say(plan_text(plan, tasks[0].dataset.data_dir), err=True) if plan.to_do else None
                ),
                board=board,
            )
        except Interrupted as stop:
            results, interrupted = stop.results, True
    if as_json:
        show_json([result.as_dict() for result in results])
    say_summary(results, click.get_current_context())
    if interrupted:
        raise click.exceptions.Exit(130)
    if any(result.problems for result in results):
        raise click.exceptions.Exit(1)
