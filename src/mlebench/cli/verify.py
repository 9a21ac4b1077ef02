"""`mlebench verify` and `sign`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlebench.cli.options import data_dir_option, json_option
from mlebench.cli.output import show_json, shown_progress
from mlebench.cli.runs import find_run, runs_dir_option, runs_folder

if TYPE_CHECKING:
    from mlebench.runs.verification import Finding, Verification


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option("--regrade", is_flag=True, help="Grade every sealed submission again and compare.")
@click.option("--sizes-only", is_flag=True, help="Of public files compare only the sizes, which is quick.")
@click.option("--no-data", is_flag=True, help="Leave out the prepared data, where they are not at hand.")
@click.option(
    "--public-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The key (PEM) that must have signed the run.",
)
@data_dir_option
@runs_dir_option
@json_option
def verify(
    run_name: str,
    regrade: bool,
    sizes_only: bool,
    no_data: bool,
    public_key: Path | None,
    data_dir: Path | None,
    runs_dir: Path | None,
    as_json: bool,
) -> None:
    """Say whether RUN is complete and unchanged: every hash is computed anew.

    Every planned attempt must be there, with what it left, its grade and its logs as they were sealed; the data
    must be those of the run. Each thing that is not so is named. The exit code is 0 only if there is none.
    """
    from mlebench.runs.verification import verify_run

    if regrade and no_data:
        raise click.UsageError("--regrade needs the data, which --no-data leaves out")
    with shown_progress():
        result = verify_run(
            find_run(run_name, runs_folder(runs_dir)),
            data_dir=data_dir,
            regrade=regrade,
            data=not no_data,
            sizes_only=sizes_only,
            public_key=public_key,
        )
    if as_json:
        show_json({"complete": result.complete, **asdict(result)})
    else:
        _show(result)
    raise click.exceptions.Exit(0 if result.complete else 1)


def _show(result: Verification) -> None:
    """The findings by kind, one in a line, then the verdict."""
    for kind, findings in groupby(result.problems, key=lambda finding: finding.kind):
        click.secho(kind, bold=True)
        _show_lines(findings, "red")
    if result.warnings:
        click.secho("warnings", bold=True)
        _show_lines(result.warnings, "yellow")
    if result.to_come:
        click.secho("still to come", bold=True)
        for name in result.to_come:
            click.echo(f"  {name}")
    for note in result.notes:
        click.echo(note)
    click.secho(_verdict(result), fg="green" if result.complete else "red", bold=True)


def _show_lines(findings: Iterable[Finding], colour: str) -> None:
    for finding in findings:
        facts = [f"{name} {_short(value)}" for name, value in _facts(finding) if value]
        click.secho(f"  {finding.where}: {finding.message}" + f" ({', '.join(facts)})" * bool(facts), fg=colour)


def _facts(finding: Finding) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("expected", finding.expected), ("found", finding.found)


def _short(value: str) -> str:
    """Hashes are told apart by their first digits; --json has them whole."""
    is_hash = len(value) == 64 and set(value) <= set("0123456789abcdef")
    return f"{value[:12]}…" if is_hash else value


def _verdict(result: Verification) -> str:
    if result.complete:
        return f"{result.run} is complete: {result.planned} of {result.planned} attempts, all as they were sealed."
    parts = []
    if result.to_come:
        parts.append(f"{len(result.to_come)} of {result.planned} attempts are still to come")
    if result.problems:
        parts.append(f"{len(result.problems)} problem" + "s" * (len(result.problems) > 1))
    return f"{result.run} is incomplete: {', '.join(parts)}."


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option(
    "--key",
    "key_path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="An Ed25519 private key in PEM.",
)
@click.option("--new-key", is_flag=True, help="Make the key first; the public one goes to FILE.pub.")
@runs_dir_option
def sign(run_name: str, key_path: Path, new_key: bool, runs_dir: Path | None) -> None:
    """Sign RUN once all its attempts are done, so that nobody else can change it unseen.

    The signature covers proof.json, which holds the hash of every attempt. Readers check it with
    "mlebench verify RUN --public-key FILE.pub"; give them the public key another way than with the run.
    """
    from mlebench.runs import signing

    folder = find_run(run_name, runs_folder(runs_dir))
    if new_key:
        click.echo(f"key: {key_path}, public: {signing.new_key(key_path)}", err=True)
    path = signing.sign_run(folder, key_path)
    key = signing.read_private_key(key_path).public_key()
    click.echo(f"signature: {path}\nfingerprint of the key: {signing.fingerprint(key)}")
