"""`mlebench notebooks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlebench.cli.options import competitions_option, data_dir_option, json_option, selected, selection_options
from mlebench.cli.output import show_json, shown_progress


@click.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@selection_options
@click.option("--top", type=click.IntRange(min=1), default=50, show_default=True, help="How many, the most voted ones.")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
@competitions_option
@data_dir_option
@json_option
def notebooks(
    names: tuple[str, ...],
    ids: tuple[str, ...],
    split_name: str | None,
    ids_file: Path | None,
    top: int,
    force: bool,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Fetch the most voted public notebooks of competitions, with your Kaggle account.

    They go into <data-dir>/<id>/notebooks, out of every agent's reach, to be compared with what agents write. What is
    there is listed without asking Kaggle; a call that broke off goes on where it stopped.
    """
    from mlebench.dataset import Dataset, default_data_dir
    from mlebench.preparation.kaggle.notebooks import fetch_all_notebooks, notebooks_folder, read_record

    chosen = selected((*names, *ids), split_name, ids_file, folders)
    datasets = [Dataset(competition, data_dir or default_data_dir()) for competition in chosen]
    with shown_progress():
        problems = fetch_all_notebooks(datasets, top, force=force)
    results = []
    for dataset in datasets:
        name = dataset.competition.id
        record = read_record(dataset) or {"competition": name, "notebooks": []}
        results.append({**record, "path": str(notebooks_folder(dataset)), "problem": problems.get(name, "")})
    if as_json:
        show_json(results)
    else:
        for result in results:
            _print(result)
    if any(map(_has_failed, results)):
        raise click.exceptions.Exit(1)


def _print(result: dict[str, Any]) -> None:
    from mlebench.report.formatting import clean

    click.echo(result["competition"])
    for entry in result["notebooks"]:
        why = f"  ({entry.get('missing') or entry.get('refused') or 'to come'})" if "file" not in entry else ""
        click.echo(clean(f"  {entry['votes']:>6,}  {entry['ref']}  {entry['title']}{why}"))
    there = sum("file" in entry for entry in result["notebooks"])
    click.echo(f"  {there} of {len(result['notebooks'])} in {result['path']}, {result.get('fetched', 'none yet')}")
    if result["problem"]:
        click.echo(f"  {result['problem']}", err=True)


def _has_failed(result: dict[str, Any]) -> bool:
    return bool(result["problem"] or result.get("to_come"))
