"""`mlebench export`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from mlebench.cli.options import json_option
from mlebench.cli.output import show_json
from mlebench.cli.runs import find_run, runs_dir_option, runs_folder


@click.command()
@click.argument("form", metavar="v1", type=click.Choice(["v1"]))
@click.argument("run_name", metavar="RUN")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs-v1"),
    show_default=True,
    help="The folder in which that of the run group is made.",
)
@runs_dir_option
@json_option
def export(form: str, run_name: str, into: Path, runs_dir: Path | None, as_json: bool) -> None:
    """Write RUN in the layout of the published benchmark, for the tools made for that.

    RUN is a path or a name in the runs folder. Beside the attempts stands a submission.jsonl, which "mlebench grade"
    reads. Attempts that ended through no doing of the agent are left out.

    \b
    Example:
        mlebench export v1 2026-01-31T20-15-00-aide --into exported
    """
    from mlebench.runs.export import export_v1
    from mlebench.runs.store import read_config

    del form  # so far there is one
    run = find_run(run_name, runs_folder(runs_dir))
    exported = export_v1(run, into)
    edition = read_config(run).edition
    if as_json:
        show_json({name: str(value) if isinstance(value, Path) else value for name, value in asdict(exported).items()})
        return
    left_out = f"; {exported.left_out} that do not count are left out" if exported.left_out else ""
    click.echo(f"{exported.attempts} attempts: {exported.folder}{left_out}")
    option = "" if edition == "v1" else f" --edition {edition.partition('.')[0]}"
    click.echo(f"grade them by: mlebench grade{option} --submission {exported.submissions} --output-dir DIR")
