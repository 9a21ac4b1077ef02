"""`mlebench prepare`."""

from __future__ import annotations

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
@click.option("--keep-raw", is_flag=True, help="Keep the raw files (unpacked or linked) beside the prepared ones.")
@click.option("--verify/--skip-verification", default=None, help="Recompute all checksums, published ones too.")
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
    keep_raw: bool,
    verify: bool | None,
    force: bool,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Make the public and private files of competitions from raw ones.

    What is prepared already is left alone. A preparation that fails leaves nothing that looks prepared; the
    others go on, and the exit code is 1.

    \b
    Examples:
        mlebench prepare --lite --source synthetic
        mlebench prepare -c spaceship-titanic --source ~/Downloads/spaceship-titanic.zip --verify
    """
    from mlebench import catalog
    from mlebench.dataset import Dataset, default_data_dir

    own = catalog.own_folders(folders)
    chosen = list(catalog.competitions(own).values()) if everything else []
    if lite:
        chosen += catalog.split("lite", own)
    if ids or split_name or ids_file or not chosen:
        chosen += selected(ids, split_name, ids_file, folders)
    results = []
    for competition in {c.id: c for c in chosen}.values():
        dataset = Dataset(competition.in_edition(edition), data_dir or default_data_dir())
        results.append(_prepare_one(dataset, source, rows, seed, keep_raw, bool(verify), force))
        if not as_json:
            _print_result(results[-1])
    if as_json:
        show_json(results)
    if any(result["problems"] for result in results):
        raise click.exceptions.Exit(1)


def _prepare_one(
    dataset: Dataset, source: str, rows: int | None, seed: int, keep_raw: bool, verify: bool, force: bool
) -> dict[str, object]:
    result: dict[str, object] = {"competition": dataset.competition.id, "state": "failed", "problems": []}
    from mlebench.errors import MlebenchError, UsageError

    try:
        done = _prepare(dataset, source, rows, seed, keep_raw, force)
        result["state"] = "prepared" if done else "already prepared"
        manifest = dataset.manifest()
        result |= {
            "path": str(dataset.prepared),
            "edition": manifest["edition"],
            "source": manifest["source"],
            "files": len(manifest["files"]),
        }
        if verify:
            result |= _verify(dataset)
    except UsageError:
        raise
    except MlebenchError as error:
        result["problems"] = [str(error)]
    return result


def _prepare(dataset: Dataset, source: str, rows: int | None, seed: int, keep_raw: bool, force: bool) -> bool:
    if dataset.is_prepared and not force and source == "kaggle":
        return False  # whatever it was made from: nothing else was asked for
    from mlebench.preparation.sources import find_source, is_prepared_from

    found = find_source(source, rows, seed, dataset.data_dir)
    if not force and is_prepared_from(dataset, found):
        return False  # before pandas is imported: asking costs nothing
    from mlebench.preparation.engine import prepare

    with shown_progress():
        return prepare(dataset, found, keep="raw" if keep_raw else "nothing", force=force)


def _verify(dataset: Dataset) -> dict[str, object]:
    from mlebench.preparation.verification import published_checksums, verify

    with shown_progress():
        mismatches = verify(dataset)
    return {
        "state": "mismatch" if mismatches else "verified",
        "published_checksums": len(published_checksums(dataset)),
        "problems": [
            f"{wrong.path}: expected {wrong.expected or 'nothing'}, found {wrong.found or 'no file'}"
            for wrong in mismatches
        ],
    }


def _print_result(result: dict[str, object]) -> None:
    problems = result["problems"]
    assert isinstance(problems, list)
    click.echo(f"{result['competition']}: {result['state']}" + (f" in {result['path']}" if "path" in result else ""))
    if result["state"] == "verified":
        click.echo(f"  {result['files']} files as prepared, {result['published_checksums']} published checksums equal")
    if result.get("source") == "synthetic":
        click.echo("  SYNTHETIC data: scores on it say nothing about humans")
    for problem in problems:
        click.echo(f"  {problem}", err=True)
