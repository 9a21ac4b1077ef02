"""`mlebench agents`: list them, show one, build what they run in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mlebench.cli.options import json_option
from mlebench.cli.output import show_json
from mlebench.errors import MlebenchError, UsageError

if TYPE_CHECKING:
    from mlebench.agents import Agent
    from mlebench.environments import Environment

BASES = ("light", "standard")  # those of mlebench.environments, which is imported when it is needed

sandbox_option = click.option(
    "--sandbox",
    default="bubblewrap",
    show_default=True,
    help="The sandbox it is for. docker: an image; all others: folders, which they share.",
)
environment_option = click.option(
    "--environment",
    "base",
    type=click.Choice(BASES),
    help="The packages for data science, instead of those that the agent names.",
)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def agents(context: click.Context, as_json: bool) -> None:
    """List the agents, show one, or build what they run in.

    \b
    Examples:
        mlebench agents
        mlebench agents show baseline
        mlebench agents build ./my-agent
    """
    if context.invoked_subcommand is not None:
        return
    from mlebench.agents import agents as all_agents

    found = all_agents()
    if as_json:
        show_json([_summary(agent) for agent in found.values()])
        return
    width = max(map(len, found))
    for agent in found.values():
        model = "model" if agent.needs_model else ""
        click.echo(f"{agent.id:{width}}  {model:5}  {_state(agent):11}  {agent.summary}")


@agents.command()
@click.argument("agent_name", metavar="NAME")
@sandbox_option
@environment_option
@json_option
def show(agent_name: str, sandbox: str, base: str | None, as_json: bool) -> None:
    """Show one agent: its command, its parameters, what it runs in.

    NAME is a built-in agent or the path of a folder with an agent.toml.
    """
    from mlebench import agents as registry

    agent = registry.get(agent_name)
    if as_json:
        show_json({**_summary(agent, sandbox, base), **_details(agent, base)})
        return
    click.echo(f"{agent.title} ({agent.id})\n{agent.summary}\n")
    rows = {
        "folder": str(agent.folder),
        "command": " ".join(agent.command),
        "model": f"yes; speaks {', '.join(agent.dialects) or 'nothing'}" if agent.needs_model else "none",
        "warning": f"{agent.warning_signal} when time runs short" if agent.warning_signal else "",
        "packages": ", ".join(agent.packages),
        "software": _software_line(agent, base),
        "environment": _environment_line(agent, sandbox, base),
    }
    for name, value in rows.items():
        if value:
            click.echo(f"{name:12} {value}")
    if agent.parameters:
        click.echo("\nparameters (--set NAME=VALUE)")
        width = max(len(parameter.name) for parameter in agent.parameters)
        for parameter in agent.parameters:
            default = f"{parameter.type}, {parameter.text(parameter.default) or 'empty'}"
            click.echo(f"  {parameter.name:{width}}  {default:16}  {parameter.help}")


@agents.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "every", is_flag=True, help="All built-in agents.")
@sandbox_option
@environment_option
@click.option("--base-image", metavar="IMAGE", help="The image to begin with, for --sandbox docker.")
@click.option("--force", is_flag=True, help="Build it anew if it is there; no attempt may be using it.")
@json_option
def build(
    names: tuple[str, ...],
    every: bool,
    sandbox: str,
    base: str | None,
    base_image: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Build what agents run in: packages of Python and Node.js, a system of their own, an image.

    Agents that ask for the same share it, and what is there is not built again. This needs the network; the agents
    themselves have none.
    """
    from mlebench import agents as registry

    if bool(names) == every:
        raise UsageError("name the agents to build for, or give --all")
    chosen = list(registry.agents().values()) if every else [registry.get(name) for name in names]
    built, failed = [], []
    for agent in chosen:
        try:
            environment = _build(agent, sandbox, base, base_image, force)
            built.append({"id": agent.id, **asdict(environment)})
        except MlebenchError as error:
            if len(chosen) == 1:
                raise
            click.echo(f"{agent.id}: {error}", err=True)
            failed.append(agent.id)
    if as_json:
        show_json(built)
    if failed:
        raise MlebenchError(f"not built: {', '.join(failed)}")


def _build(agent: Agent, sandbox: str, base: str | None, base_image: str | None, force: bool) -> Environment:
    from mlebench.environments import build as build_environment

    begin = time.monotonic()
    software = agent.software_for(base)

    def say(text: str) -> None:
        click.echo(f"{agent.id}: {text}", err=True)

    environment = build_environment(software, sandbox, say=say, force=force, base_image=base_image)
    if software is None:
        say("runs in the Python that runs mlebench; there is nothing to build")
    else:
        say(f"ready after {time.monotonic() - begin:.0f} s")
    return environment


# --- what is known of an agent


def _summary(agent: Agent, sandbox: str = "bubblewrap", base: str | None = None) -> dict[str, Any]:
    return {
        "id": agent.id,
        "title": agent.title,
        "summary": agent.summary,
        "folder": str(agent.folder),
        "needs_model": agent.needs_model,
        "environment": _state(agent, sandbox, base),
    }


def _details(agent: Agent, base: str | None) -> dict[str, Any]:
    software = agent.software_for(base)
    return {
        "command": agent.command,
        "dialects": agent.dialects,
        "warning_signal": agent.warning_signal,
        "packages": agent.packages,
        "software": None
        if software is None
        else {k: v for k, v in asdict(software).items() if v and k not in ("agent", "option")},
        "parameters": [asdict(parameter) for parameter in agent.parameters],
    }


def _state(agent: Agent, sandbox: str = "bubblewrap", base: str | None = None) -> str:
    """In a word or two: whether it could run now, if need be with --environment light."""
    if agent.software_for(base) is None:
        return "this Python"
    word = _looked_up(agent, sandbox, base, lambda _: "built", lambda _: "not built")
    if word == "not built" and base is None:
        return _looked_up(agent, sandbox, "light", lambda _: "built light", lambda _: word)
    return word


def _environment_line(agent: Agent, sandbox: str, base: str | None) -> str:
    if agent.software_for(base) is None:
        return "the Python that runs mlebench"
    return _looked_up(agent, sandbox, base, _places, str)


def _looked_up(
    agent: Agent,
    sandbox: str,
    base: str | None,
    found: Callable[[Environment], str],
    missing: Callable[[UsageError], str],
) -> str:
    from mlebench.environments import find

    try:
        return found(find(agent.software_for(base), sandbox))
    except UsageError as error:
        return missing(error)


def _places(environment: Environment) -> str:
    if environment.image:
        return f"built: image {environment.image}"
    root = f", in the system {environment.root}" if environment.root else ""
    return f"built: {environment.python.parent if environment.python else environment.digest}{root}"


def _software_line(agent: Agent, base: str | None) -> str:
    software = agent.software_for(base)
    if software is None:
        return ""
    parts = [
        f"Python {software.python}" if software.python else "",
        f'base "{software.base}"' if software.base else "",
        software.requirements.name if software.requirements else "",
        *software.no_deps,
        software.npm.name if software.npm else "",
        f"Debian {software.root}" if software.root else "",
        *software.root_packages,
    ]
    return ", ".join(filter(None, parts))
