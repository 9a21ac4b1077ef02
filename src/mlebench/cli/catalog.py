"""`mlebench list` and `mlebench show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlebench import catalog
from mlebench.cli.options import competitions_option, data_dir_option, edition_option, json_option
from mlebench.cli.output import show_json
from mlebench.competition import COMPLEXITIES, Competition


@click.command("list")
@click.option("--split", "split_name", type=click.Choice(catalog.SPLITS), help="Only those of a split.")
@click.option("--category", help="Only those of a category, such as Tabular (upper and lower case are alike).")
@click.option("--complexity", type=click.Choice(COMPLEXITIES), help="Only those of a complexity.")
@competitions_option
@json_option
def list_(
    split_name: str | None, category: str | None, complexity: str | None, folders: tuple[Path, ...], as_json: bool
) -> None:
    """List the competitions."""
    own = catalog.own_folders(folders)
    chosen = catalog.split(split_name, own) if split_name else list(catalog.competitions(own).values())
    chosen = [
        competition
        for competition in chosen
        if (category is None or category.lower() == competition.category.lower())
        and (complexity is None or complexity == competition.complexity)
    ]
    if as_json:
        show_json([_summary(competition) for competition in chosen])
        return
    rows = [_row(competition) for competition in chosen]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    click.echo(f"{len(chosen)} competition{'' if len(chosen) == 1 else 's'}", err=True)


def _row(competition: Competition) -> list[str]:
    board = competition.leaderboard
    return [
        competition.id,
        competition.complexity,
        competition.category,
        f"{board.teams:,} teams" if board else "",
        ", ".join(competition.editions),
        f"{competition.metric.title} ({'higher' if competition.metric.higher_is_better else 'lower'})",
    ]


def _summary(competition: Competition) -> dict[str, Any]:
    board = competition.leaderboard
    return {
        "id": competition.id,
        "title": competition.title,
        "category": competition.category,
        "complexity": competition.complexity,
        "type": competition.type,
        "year": competition.year,
        "prize_usd": competition.prize_usd,
        "dataset_gb": competition.dataset_gb,
        "examples": competition.examples,
        "test_rows": competition.test_rows,
        "awards_medals": competition.awards_medals,
        "metric": competition.metric.title,
        "higher_is_better": competition.metric.higher_is_better,
        "teams": board.teams if board else None,
        "issues": len(competition.issues),
        "editions": list(competition.editions),
        "folder": str(competition.folder),
    }


@click.command()
@click.argument("competition_id", metavar="COMPETITION")
@click.option("--text", is_flag=True, help="Print the description that agents read.")
@click.option("--obfuscated", is_flag=True, help="With --text: without the header that names the competition.")
@edition_option
@competitions_option
@data_dir_option
@json_option
def show(
    competition_id: str,
    text: bool,
    obfuscated: bool,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Show the facts of one COMPETITION.

    Task, metric and direction, medal table, sizes, what a submission looks like, known issues, and whether its
    data are prepared.
    """
    from mlebench.cli.options import dataset_of

    dataset = dataset_of(competition_id, folders, data_dir, edition)
    if text:
        click.echo(dataset.competition.description if obfuscated else dataset.competition.named_description, nl=False)
        return
    facts = {**_summary(dataset.competition), **_details(dataset.competition)}
    facts["prepared"] = str(dataset.prepared) if dataset.is_prepared else None
    facts["source"] = dataset.source if dataset.is_prepared else None
    if as_json:
        show_json(facts)
    else:
        _print_facts(dataset.competition, facts)


def _details(competition: Competition) -> dict[str, Any]:
    from dataclasses import asdict

    from mlebench.leaderboard import medal_positions

    board = competition.leaderboard
    medals = None
    if board:
        positions = medal_positions(board.teams)
        medals = {name: {"position": positions[name], "score": getattr(board, name)} for name in positions}
    schema = asdict(competition.schema)
    return {
        "medals": medals,
        "median": board.median if board else None,
        "best": board.scores[0] if board else None,
        "worst": board.scores[-1] if board else None,
        "submission": schema,
        "issues": [asdict(issue) for issue in competition.issues],
        "division": competition.division,
        "edition": competition.revision,
        "description": str(competition.description_path),
    }


def _print_facts(competition: Competition, facts: dict[str, Any]) -> None:
    better = "higher is better" if facts["higher_is_better"] else "lower is better"
    prize = f", prize {facts['prize_usd']:,} USD" if facts["prize_usd"] else ""
    size = f"{facts['dataset_gb']} GB" if facts["dataset_gb"] is not None else "size not published"
    click.echo(f"{competition.title} ({competition.id})")
    click.echo(f"  {facts['category']}, complexity {facts['complexity']}, {facts['year'] or 'no year'}{prize}, {size}")
    if rows := _size(competition):
        click.echo(f"  real size: {rows}")
    click.echo(f"  metric: {facts['metric']}, {better}")
    if facts["division"]:
        click.echo(f"  division: {facts['division']}")
    if facts["medals"]:
        click.echo(f"  humans: {facts['teams']:,} teams, best {facts['best']}, median {facts['median']}")
        for name, medal in facts["medals"].items():
            click.echo(f"    {name:6}  {medal['score']:<12} place {medal['position']:,} or better")
    click.echo("  submission:")
    if not competition.schema.columns:
        click.echo("    as the sample submission; the competition's grader decides")
    else:
        click.echo(f"    {competition.schema.id}  (id, {competition.schema.id_type})")
    for column in competition.schema.columns[:12]:
        bounds = "" if column.minimum is None and column.maximum is None else f" {column.minimum} … {column.maximum}"
        click.echo(f"    {column.name}  ({column.type}{bounds})")
    if len(competition.schema.columns) > 12:
        click.echo(f"    … and {len(competition.schema.columns) - 12} more columns")
    for issue in competition.issues:
        click.echo(f"  known issue ({issue.kind}): {issue.summary}")
        if issue.v2:
            click.echo(f"    edition v2: {issue.v2}")
    prepared = facts["prepared"]
    click.echo(f"  prepared: {prepared} (source {facts['source']})" if prepared else "  prepared: no")
    click.echo(f"  task: {facts['description']}")


def _size(competition: Competition) -> str:
    """How large the real data are, as far as it is known."""
    parts = []
    if competition.examples is not None:
        parts.append(f"{competition.examples:,} examples")
    if competition.test_rows is not None:
        parts.append(f"{competition.test_rows:,} rows of a submission (edition v1)")
    return ", ".join(parts)
