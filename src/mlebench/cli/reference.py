"""Writes the reference page of all commands: `python -m mlebench.cli.reference > docs/cli.md`."""

from __future__ import annotations

import click

from mlebench.cli import COMMANDS, main


def reference() -> str:
    """The page as Markdown: the help of the program and of each command."""
    parts = [
        "# Commands",
        "Made from the program's own help by `python -m mlebench.cli.reference > docs/cli.md`.",
    ]
    root = _context(main, "mlebench", None)
    parts.append(_section(root))
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        parts.append(_section(_context(command, name, root)))
    return "\n\n".join(parts) + "\n"


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = {**main.context_settings, "terminal_width": 100, "max_content_width": 100}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _section(context: click.Context) -> str:
    lines = [line.rstrip() for line in context.get_help().splitlines()]
    return f"## {context.command_path}\n\n```text\n" + "\n".join(lines) + "\n```"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
