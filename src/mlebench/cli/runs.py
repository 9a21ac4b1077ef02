"""`mlebench run` and `report`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mlebench.cli.options import (
    Duration,
    Size,
    competitions_option,
    data_dir_option,
    edition_option,
    json_option,
    selected,
    selection_options,
)
from mlebench.cli.output import show_json
from mlebench.errors import UsageError


def runs_folder(given: Path | None) -> Path:
    """Where runs are kept: as given, or MLEBENCH_RUNS_DIR, or ./runs."""
    return given or Path(os.environ.get("MLEBENCH_RUNS_DIR", "runs"))


def find_run(text: str, runs_dir: Path) -> Path:
    """A run by its path, or by its name in the runs folder."""
    for path in (Path(text), runs_dir / text):
        if (path / "run.json").is_file():
            return path.absolute()
    raise UsageError(f"no run {text}: neither {text} nor {runs_dir / text} has a run.json")


def runs_dir_option(command: click.decorators.FC) -> click.decorators.FC:
    """`--runs-dir DIR`."""
    return click.option(
        "--runs-dir",
        type=click.Path(path_type=Path),
        help="Where runs are kept. Default: MLEBENCH_RUNS_DIR or ./runs.",
    )(command)


@click.command()
@click.option("--agent", help="A built-in agent, or the path of a folder with an agent.toml.")
@selection_options
@click.option("--seeds", type=click.IntRange(min=1), help="Attempts per competition. Default: 1.")
@click.option("--time-limit", type=Duration(), default="24h", show_default=True, help="Of one attempt.")
@click.option("--workers", type=click.IntRange(min=1), help="Attempts at once. Default: 1.")
@click.option(
    "--sandbox",
    default="auto",
    show_default=True,
    help="bubblewrap, docker (also docker:RUNTIME), apptainer, none, or a dotted path module:Class. auto: the best "
    'that works here ("mlebench doctor" says which and why); where none does, built-in agents that need no model run '
    "without a sandbox.",
)
@click.option("--memory", type=Size(), help="Memory limit of an attempt, such as 16GB. Default: a share of all.")
@click.option("--processes", type=click.IntRange(min=1), default=4096, show_default=True, help="Limit of an attempt.")
@click.option("--disk", type=Size(), help="Disk limit of an attempt, such as 100GB. Default: a share of what is free.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of the agent.")
@click.option("--model", help="The language model, as upstream/name (openai/gpt-4o-2024-08-06) or an alias of yours.")
@click.option(
    "--models",
    "models_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file of your own upstreams, aliases and prices. Also: MLEBENCH_MODELS.",
)
@click.option("--max-dollars", type=click.FloatRange(min=0, min_open=True), help="What an attempt may spend.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens, in and out, that an attempt may use.")
@click.option("--max-requests", type=click.IntRange(min=1), help="Requests to the model that an attempt may make.")
@click.option("--max-concurrent", type=click.IntRange(min=1), help="Requests at once; more wait. Default: 8.")
@click.option(
    "--patience",
    type=Duration(),
    help="How long errors of the provider are waited out; then the attempt ends as gateway-error. Default: a quarter "
    "of the time limit, at most 1h.",
)
@click.option(
    "--provider-tools", is_flag=True, help="Allow tools that the model's provider runs, such as web search. Recorded."
)
@click.option("--replay", metavar="RUN", help="Answer from what the model said in RUN, whose plan is the default.")
@click.option(
    "--environment",
    type=click.Choice(["light", "standard"]),
    help="The packages that the agent's code finds, instead of those that the agent names.",
)
@click.option("--cpus", type=click.IntRange(min=1), help="Processors of an attempt, its own. Default: all, shared.")
@click.option("--gpus", type=click.IntRange(min=0), default=0, show_default=True, help="GPUs of an attempt, its own.")
@click.option("--snapshots", type=Duration(), help="Keep and grade what the submission is every so often, such as 1h.")
@click.option(
    "--hidden-validation",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Hold back this share of the training rows; agents may ask for scores on them.",
)
@click.option(
    "--scores-per-hour",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="How many scores of --hidden-validation an attempt may have in any hour.",
)
@click.option("--obfuscated", is_flag=True, help="The description names neither the competition nor its host.")
@click.option(
    "--original-description",
    is_flag=True,
    help='The description is the competition\'s own pages, as "mlebench prepare --pages" fetched them.',
)
@click.option(
    "--sign",
    "key_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEY",
    help='Sign the run with this private key once all is done, as "mlebench sign" does.',
)
@click.option("--name", help="Name of the run. Default: time and agent.")
@click.option(
    "--resume", metavar="RUN", help="Go on with a run, by name or path; other options are those it began with."
)
@edition_option
@competitions_option
@data_dir_option
@runs_dir_option
@json_option
def run(
    agent: str | None,
    ids: tuple[str, ...],
    split_name: str | None,
    ids_file: Path | None,
    seeds: int | None,
    time_limit: float,
    workers: int | None,
    sandbox: str,
    memory: int | None,
    processes: int,
    disk: int | None,
    parameters: tuple[str, ...],
    model: str | None,
    models_file: Path | None,
    max_dollars: float | None,
    max_tokens: int | None,
    max_requests: int | None,
    max_concurrent: int | None,
    patience: float | None,
    provider_tools: bool,
    replay: str | None,
    environment: str | None,
    cpus: int | None,
    gpus: int,
    snapshots: float | None,
    hidden_validation: float | None,
    scores_per_hour: int,
    obfuscated: bool,
    original_description: bool,
    key_path: Path | None,
    name: str | None,
    resume: str | None,
    edition: str,
    folders: tuple[Path, ...],
    data_dir: Path | None,
    runs_dir: Path | None,
    as_json: bool,
) -> None:
    """Run an agent on competitions and grade what it leaves.

    Each attempt runs in a sandbox without network and without the answers. Ctrl-C stops cleanly;
    --resume goes on, also after the machine died. Finished attempts are never run again.

    \b
    Examples:
        mlebench run --agent baseline -c spaceship-titanic --time-limit 10m
        mlebench run --agent ./my-agent --split lite --seeds 3 --workers 4
        mlebench run --resume runs/2026-01-31T20-15-00-baseline
    """
    from mlebench.cli.live import watched
    from mlebench.dataset import default_data_dir
    from mlebench.runs.runner import execute, plan_run
    from mlebench.runs.store import read_config

    if key_path is not None:
        from mlebench.runs.signing import read_private_key

        read_private_key(key_path)  # before anything runs
    if resume:
        folder = find_run(resume, runs_folder(runs_dir))
    else:
        recorded = find_run(replay, runs_folder(runs_dir)) if replay else None
        if recorded is not None:
            then = read_config(recorded)
            agent = agent or then.agent
            ids = ids if ids or split_name or ids_file else tuple(then.competitions)
            parameters = parameters or tuple(f"{name}={value}" for name, value in then.agent_parameters.items())
            environment = environment or then.environment
            seeds = seeds or then.seeds
            if hidden_validation is None and then.hidden_validation is not None:
                hidden_validation, scores_per_hour = then.hidden_validation, then.scores_per_hour
        if not agent:
            raise UsageError('name an agent with --agent; "mlebench agents" lists the built-in ones')
        folder, warnings = plan_run(
            agent=agent,
            competitions=selected(ids, split_name, ids_file, folders),
            data_dir=data_dir or default_data_dir(),
            runs_dir=runs_folder(runs_dir),
            seeds=seeds or 1,
            time_limit_seconds=time_limit,
            sandbox=sandbox,
            workers=workers or 1,
            memory_bytes=memory,
            processes=processes,
            disk_bytes=disk,
            name=name,
            agent_parameters=_parameters(parameters),
            edition=edition,
            obfuscated=obfuscated,
            original_description=original_description,
            model=model,
            models_file=models_file,
            budget={
                "max_dollars": max_dollars,
                "max_tokens": max_tokens,
                "max_requests": max_requests,
                "provider_tools": provider_tools,
                **({} if max_concurrent is None else {"max_concurrent": max_concurrent}),
                **({} if patience is None else {"patience_seconds": patience}),
            },
            replay=recorded,
            environment=environment,
            cpus=cpus,
            gpus=gpus,
            snapshot_seconds=snapshots,
            hidden_validation=hidden_validation,
            scores_per_hour=scores_per_hour,
        )
        for warning in warnings:
            click.secho(f"Warning: {warning}", fg="yellow", err=True)
    click.echo(f"run: {folder}", err=True)
    try:
        with watched() as watch:
            done = execute(folder, watch, workers)
    except KeyboardInterrupt:
        click.echo(f'\nStopped. "mlebench run --resume {folder}" goes on.', err=True)
        raise click.exceptions.Exit(130) from None
    _show_report(folder, as_json)
    if not done:
        click.echo(f'Some attempts did not end properly. "mlebench run --resume {folder}" runs them again.', err=True)
        raise click.exceptions.Exit(1)
    if key_path is not None:
        from mlebench.runs.signing import sign_run

        click.echo(f"signature: {sign_run(folder, key_path)}", err=True)


def _parameters(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = [name for name, separator, _ in pairs if not separator or not name]
    if wrong:
        raise UsageError(f"--set {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option("--html", type=click.Path(path_type=Path), help="Where the page goes. Default: report.html in the run.")
@click.option(
    "--padded",
    is_flag=True,
    help="Count attempts as failures that are still missing, or that ended through no doing of the agent.",
)
@runs_dir_option
@json_option
def report(run_name: str, html: Path | None, padded: bool, runs_dir: Path | None, as_json: bool) -> None:
    """Report on RUN at the terminal and as an HTML page.

    RUN is a path or a name in the runs folder. The page is one file that needs nothing else.
    """
    from mlebench.report import write_html

    folder = find_run(run_name, runs_folder(runs_dir))
    page = write_html(folder, html or folder / "report.html", padded=padded)
    _show_report(folder, as_json, padded)
    click.echo(f"page: {page}", err=True)


def _show_report(folder: Path, as_json: bool, padded: bool = False) -> None:
    from mlebench.report import render_terminal, to_json

    if as_json:
        show_json(to_json(folder, padded=padded))
        return
    import sys

    from rich.console import Console

    render_terminal(folder, Console(width=None if sys.stdout.isatty() else 140), padded=padded)
