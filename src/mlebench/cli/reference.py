"""Writes the reference page of all commands: `python -m mlebench.cli.reference > docs/cli.md`."""

from __future__ import annotations

import click

from mlebench.cli import COMMANDS, main


def reference() -> str:
    """The page as Markdown: the help of the program and of each command."""
    parts = [
        "# Commands",
        "Made from the program's own help by `python -m mlebench.cli.reference > docs/cli.md`.",
        _section(main, "mlebench"),
    ]
    root = click.Context(main, info_name="mlebench")
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        parts.append(_section(command, f"mlebench {name}"))
    return "\n\n".join(parts) + "\n"


def _section(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    return f"## {name}\n\n```text\n" + "\n".join(lines) + "\n```"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
