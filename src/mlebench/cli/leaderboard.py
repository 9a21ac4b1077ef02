"""`mlebench leaderboard`, and `dev download-leaderboard`, as the published benchmark called its second half."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mlebench.cli.options import competitions_option, data_dir_option, json_option, selected, selection_options
from mlebench.cli.output import show_json, shown_progress
from mlebench.dataset import Dataset, default_data_dir
from mlebench.errors import MlebenchError, UsageError

everything_option = click.option("-a", "--all", "everything", is_flag=True, help="All competitions.")


@click.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@selection_options
@everything_option
@click.option("--fetch", is_flag=True, help="Get the score of every team from Kaggle, with your account.")
@click.option("--force", is_flag=True, help="With --fetch: also those that are there already.")
@competitions_option
@data_dir_option
@json_option
def leaderboard(
    names: tuple[str, ...],
    ids: tuple[str, ...],
    split_name: str | None,
    ids_file: Path | None,
    everything: bool,
    fetch: bool,
    force: bool,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Show what is known of the human leaderboards; --fetch makes ranks exact.

    Medals are given by the published thresholds, always. Ranks and percentiles are estimated from selected places,
    exact once the whole leaderboard was fetched into the data directory.

    \b
    Examples:
        mlebench leaderboard spaceship-titanic
        mlebench leaderboard --split lite --fetch
    """
    datasets = _datasets((*names, *ids), split_name, ids_file, everything, folders, data_dir)
    problems = _fetch(datasets, force) if fetch else {}
    _show(datasets, problems, as_json)


@click.group()
def dev() -> None:
    """Commands that the published benchmark had for its developers."""


@dev.command("download-leaderboard")
@click.option("-c", "--competition-id", "ids", multiple=True, help="The id of a competition; repeatable.")
@everything_option
@click.option("--force", is_flag=True, help="Also those that are there already.")
@competitions_option
@data_dir_option
@json_option
def download_leaderboard(
    ids: tuple[str, ...],
    everything: bool,
    force: bool,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """The same as "mlebench leaderboard --fetch"."""
    datasets = _datasets(ids, None, None, everything, folders, data_dir)
    _show(datasets, _fetch(datasets, force), as_json)


def _datasets(
    ids: Sequence[str],
    split_name: str | None,
    ids_file: Path | None,
    everything: bool,
    folders: Sequence[Path],
    data_dir: Path | None,
) -> list[Dataset]:
    from mlebench import catalog

    if not (ids or split_name or ids_file or everything):
        raise UsageError("no competition is named: give an ID, --split NAME, --list FILE or --all")
    own = catalog.own_folders(folders)
    chosen = list(catalog.competitions(own).values()) if everything else selected(ids, split_name, ids_file, folders)
    return [Dataset(competition, data_dir or default_data_dir()) for competition in chosen]


def _fetch(datasets: Sequence[Dataset], force: bool) -> dict[str, str]:
    """Fetch what is not there; what went wrong, by competition."""
    from mlebench.preparation.kaggle.leaderboards import fetch_leaderboards

    with shown_progress():
        return fetch_leaderboards(datasets, force=force)


def _show(datasets: Sequence[Dataset], problems: dict[str, str], as_json: bool) -> None:
    from mlebench.preparation.kaggle.leaderboards import describe_leaderboard

    results = []
    for dataset in datasets:
        name = dataset.competition.id
        problem = problems.get(name, "")
        try:
            facts = describe_leaderboard(dataset)
        except MlebenchError as error:
            facts = {"competition": name, "title": dataset.competition.title}
            problem = "; ".join(filter(None, (problem, str(error))))
        results.append({**facts, "problem": problem})
    if as_json:
        show_json(results)
    else:
        for facts in results:
            _print(facts)
    if any(facts["problem"] for facts in results):
        raise click.exceptions.Exit(1)


def _print(facts: dict[str, Any]) -> None:
    click.echo(f"{facts['title']} ({facts['competition']})")
    if facts.get("teams"):
        better = "lower" if facts["lower_is_better"] else "higher"
        click.echo(f"  {facts['teams']:,} teams, {better} is better, best {facts['best']}, worst {facts['worst']}")
        for name, medal in facts["medals"].items():
            click.echo(f"    {name:6}  {medal['score']:<12} place {medal['position']:,} or better")
        click.echo(f"    median  {facts['median']}")
        click.echo(f"  ranks: {_about_ranks(facts)}")
        _print_warnings(facts)
    elif "teams" in facts:
        click.echo("  no leaderboard: no medals, ranks or percentiles")
    if facts["problem"]:
        click.echo(f"  {facts['problem']}", err=True)


def _about_ranks(facts: dict[str, Any]) -> str:
    if facts["source"] == "fetched":
        when = f"fetched {facts['fetched']} ({facts['route']})" if facts["fetched"] else "put there by hand"
        return f"exact, by {facts['path']}, {when}, md5 {facts['md5']}"
    if facts["kind"] == "exact":
        return "exact: the score of every team is known"
    return f"estimated from {facts['known_places']:,} places; --fetch makes them exact"


def _print_warnings(facts: dict[str, Any]) -> None:
    """What is to be known of a fetched leaderboard before its ranks are published."""
    if facts["source"] != "fetched":
        return
    if facts["fetched"] and not facts["is_as_fetched"]:
        _warn(facts["competition"], "the file was changed after it was fetched; --fetch --force gets it again")
    if changed := facts["differences"]:
        told = ", ".join(
            f"{name} {pair['fetched']:,} instead of {pair['published']:,}" for name, pair in changed.items()
        )
        _warn(
            facts["competition"],
            f"Kaggle's leaderboard is no longer the published one: {told}. Medals are still given by the published "
            "thresholds, so that they compare; ranks and percentiles are those of the fetched one.",
        )


def _warn(competition: str, text: str) -> None:
    click.secho(f"WARNING: {competition}: {text}", fg="yellow", err=True)
