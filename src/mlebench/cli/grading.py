"""`mlebench validate`, `grade-sample` and `grade`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from mlebench.cli.options import competitions_option, data_dir_option, dataset_of, edition_option, json_option
from mlebench.cli.output import show_json


@click.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.argument("competition_id", metavar="COMPETITION")
@edition_option
@competitions_option
@data_dir_option
@json_option
def validate(
    submission: Path,
    competition_id: str,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Say whether SUBMISSION is valid for COMPETITION; needs no labels.

    All problems are listed, each with rows, values and what was expected. The exit code is 1 if there are any.
    """
    from mlebench.grading import validate_submission

    dataset = dataset_of(competition_id, folders, data_dir, edition)
    dataset.manifest()
    result = validate_submission(submission, dataset)
    if as_json:
        problems = [asdict(problem) for problem in result.problems]
        show_json({"valid": result.valid, "problems": problems, "warnings": list(result.warnings)})
    else:
        click.echo(result.message())
    raise click.exceptions.Exit(0 if result.valid else 1)


@click.command("grade-sample")
@click.argument("submission", type=click.Path(path_type=Path))
@click.argument("competition_id", metavar="COMPETITION")
@click.option("--strict", is_flag=True, help="Exit with code 1 if the submission is missing or invalid.")
@edition_option
@competitions_option
@data_dir_option
@json_option
def grade_sample(
    submission: Path,
    competition_id: str,
    strict: bool,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Score SUBMISSION on COMPETITION and name the medal it earns.

    Prints one flat JSON object on standard output, everything else on standard error. A missing or invalid
    submission is a result too: its score is null.
    """
    from mlebench.grading import grade as grade_one

    del as_json  # it is JSON anyway
    report = grade_one(submission, dataset_of(competition_id, folders, data_dir, edition))
    if report.reason:
        click.echo(f"Invalid submission: {report.reason}", err=True)
    if report.source == "synthetic":
        click.echo("SYNTHETIC data: this score says nothing about humans", err=True)
    click.echo("Competition report:", err=True)
    show_json(report.to_dict())
    if strict and not report.valid_submission:
        raise click.exceptions.Exit(1)


@click.command()
@click.option(
    "--submission",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with competition_id and submission_path.",
)
@click.option("--output-dir", required=True, type=click.Path(path_type=Path), help="Where the report goes.")
@click.option("--workers", type=click.IntRange(min=1), help="How many at once. Default: the number of CPUs.")
@edition_option
@competitions_option
@data_dir_option
@json_option
def grade(
    submission: Path,
    output_dir: Path,
    workers: int | None,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Grade all submissions listed in a JSON-lines file and write one report.

    A missing or broken submission is a result, not an error; an unknown or unprepared competition is an error,
    found before anything is graded.
    """
    from datetime import UTC, datetime

    from mlebench import catalog
    from mlebench.dataset import default_data_dir
    from mlebench.files import strict, write_json
    from mlebench.grading import aggregate, grade_lines, read_lines

    entries = read_lines(submission)
    reports = grade_lines(entries, data_dir or default_data_dir(), catalog.own_folders(folders), workers, edition)
    result = strict(aggregate(reports))
    path = output_dir / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-UTC}_grading_report.json"
    write_json(path, result)
    if as_json:
        show_json(result)
        return
    for report in reports:
        outcome = report.reason if report.score is None else f"{report.score} ({report.medal or 'no medal'})"
        mark = " SYNTHETIC" if report.source == "synthetic" else ""
        click.echo(f"{report.competition_id}: {outcome}{mark}")
    click.echo(f"{result['total_medals']} medals in {result['total_runs']} attempts; report: {path}")
