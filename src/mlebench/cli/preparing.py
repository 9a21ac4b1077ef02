"""What `mlebench prepare` says: what it is about to do, how each competition ended, what is left and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from mlebench.cli.progress_display import size
from mlebench.preparation.pipeline import STATES, Plan, Result

FEW = 4  # competitions that a command names one by one
UNLIKE_PUBLISHED = ("archive", "follows", "preparation", "published")  # mismatches that come again
_CHOOSING = {"ids", "split_name", "ids_file", "everything", "lite"}


def plan_text(plan: Plan, data_dir: Path) -> str:
    """What is about to be done, and what it takes."""
    others = [f"{plan.there} there already"] if plan.there else []
    others += [f"{plan.refused} not given out by Kaggle"] if plan.refused else []
    tasks = {"prepare": plan.to_do - plan.to_verify, "verify": plan.to_verify}
    to_do = " and ".join(f"{count} to {task}" for task, count in tasks.items() if count)
    text = f"{to_do} in {data_dir}" + (f" ({', '.join(others)})" if others else "")
    if plan.needs is None:
        return text
    needs, about = plan.needs, "" if plan.is_told else "about "
    text += f"\n{about}{size(needs.download)} to download; " if needs.download else "\n"
    text += f"disk: about {size(needs.peak)} at the peak and {size(needs.final)} in the end, {size(plan.free)} free"
    return text + ("\nThat may not be enough: what does not fit is told and left out" if needs.peak > plan.free else "")


def say_result(result: Result, is_alone: bool, say: Callable[..., None]) -> None:
    """How one competition ended; with its folder if there are no others."""
    path, files = result.facts.get("path"), result.facts.get("files")
    state = click.style(result.state, fg="red" if result.problems else "green")  # for a terminal only
    say(f"{result.competition}: {state}" + (f" in {path}" if path and is_alone else ""))
    if result.state == "verified":
        say(f"  {files} files as prepared, {result.facts['published_checksums']} published checksums equal")
    if result.facts.get("source") == "synthetic":
        say("  SYNTHETIC data: scores on it say nothing about humans")
    if (unlike := result.facts.get("unlike_published")) and result.state == "prepared":
        files = "a file is" if len(unlike) == 1 else f"{len(unlike)} files are"
        say(f"  {files} not as published, so the download stays; --verify tells more")
    for problem in (*result.problems, *result.facts.get("notes", ())):
        say(f"  {problem}", err=True)


def say_summary(results: Sequence[Result], context: click.Context) -> None:
    """On standard error: how many are there, what is not and why, and the command that goes on."""
    missing = [result for result in results if result.problems]
    if len(results) > 1:
        counts = {state: sum(result.state == state for result in results) for state in STATES}
        click.echo("\n" + ", ".join(f"{count} {state}" for state, count in counts.items() if count), err=True)
    if used := sum(result.facts.get("disk_bytes", 0) for result in results):
        click.echo(f"{size(used)} of disk used by what was prepared now", err=True)
    if len(results) > 1 and (refused := [result for result in missing if result.page]):
        click.echo("Kaggle does not give these to your account yet:", err=True)
        for line in _refusals(refused):
            click.echo(f"  {line}", err=True)
    damaged = [result.competition for result in missing if _is_damaged(result)]
    if damaged:
        click.echo(f"To prepare anew what was damaged: {command_again(context, damaged, force=True)}", err=True)
    if others := [result.competition for result in missing if result.state != "mismatch"]:
        click.echo(f"To go on: {command_again(context, others)}", err=True)


def _is_damaged(result: Result) -> bool:
    """Whether files are no longer what they were when they were prepared: only then is preparing anew of use."""
    wrong = (each for each in result.facts.get("mismatches", ()) if each["is_failure"])
    return any(each["kind"] not in UNLIKE_PUBLISHED for each in wrong)


def _refusals(refused: Sequence[Result]) -> Iterator[str]:
    """Each reason with what to do, below it the pages."""
    pages: dict[str, dict[str, None]] = {}
    for result in refused:
        reason = result.problems[0] + (f"; {result.advice}" if result.advice else "")
        pages.setdefault(reason, {})[result.page] = None
    for reason, those in pages.items():
        yield reason
        yield from (f"  {page}" for page in those)


def command_again(context: click.Context, missing: Sequence[str], *, force: bool = False) -> str:
    """The same command for what is missing: what is there needs no --force again."""
    words = ["mlebench", "prepare", *(["--force"] if force and not context.params["force"] else [])]
    is_few = len(missing) <= FEW or force or bool(context.params["force"])
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
