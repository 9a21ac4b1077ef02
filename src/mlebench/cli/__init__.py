"""The command line: each command parses, calls one function, and shows its result.

Commands are imported when they are called, so that `mlebench --help` answers at once.
"""

from __future__ import annotations

import importlib

import click

from mlebench import __version__
from mlebench.errors import MlebenchError

# name -> (module:function, first sentence of its help)
COMMANDS = {
    "demo": ("demo:demo", "See it work: four synthetic competitions, two agents, a medal table and a page."),
    "doctor": ("doctor:doctor", "Say what this machine can do, and what to do about the rest."),
    "list": ("catalog:list_", "List the competitions."),
    "show": ("catalog:show", "Show the facts of one COMPETITION."),
    "leaderboard": (
        "leaderboard:leaderboard",
        "Show what is known of the human leaderboards; --fetch makes ranks exact.",
    ),
    "prepare": ("prepare:prepare", "Make the public and private files of competitions from raw ones."),
    "notebooks": (
        "notebooks:notebooks",
        "Fetch the most voted public notebooks of competitions, with your Kaggle account.",
    ),
    "data": ("data:data", "Say what the data take on disk, or remove what is not needed."),
    "validate": ("grading:validate", "Say whether SUBMISSION is valid for COMPETITION; needs no labels."),
    "grade-sample": ("grading:grade_sample", "Score SUBMISSION on COMPETITION and name the medal it earns."),
    "grade": ("grading:grade", "Grade all submissions listed in a JSON-lines file and write one report."),
    "agents": ("agents:agents", "List the agents, show one, or build what they run in."),
    "run": ("runs:run", "Run an agent on competitions and grade what it leaves."),
    "runs": ("watching:runs", "List the runs, latest first."),
    "status": (
        "watching:status",
        "Show how far RUN is: each attempt's state, time, memory, disk, and use of the model.",
    ),
    "logs": ("watching:logs", "Show what the agent of an attempt printed, or another record of it."),
    "stop": ("watching:stop", "Stop RUN, or one attempt of it, cleanly."),
    "verify": ("verify:verify", "Say whether RUN is complete and unchanged: every hash is computed anew."),
    "sign": ("verify:sign", "Sign RUN once all its attempts are done, so that nobody else can change it unseen."),
    "report": ("runs:report", "Report on RUN at the terminal and as an HTML page."),
    "export": ("export:export", "Write RUN in the layout of the published benchmark, for the tools made for that."),
    "new": ("authoring:new", "Write the skeleton of a new competition."),
    "check": ("authoring:check", "Check that a competition, by id or path, holds all it must."),
    "dev": ("leaderboard:dev", "Commands that the published benchmark had for its developers."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and turns our errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        return getattr(importlib.import_module(f"mlebench.cli.{module}"), function)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; `--debug` shows our errors with their traceback."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # where no command has its own way to stop
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(130) from error
        except MlebenchError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {error}", err=True)
            raise click.exceptions.Exit(error.exit_code) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="mlebench")
@click.option("--debug", is_flag=True, help="Show tracebacks of errors.")
def main(debug: bool) -> None:
    """Kaggle competitions as offline tasks for machine-learning agents, graded against the human leaderboards.

    "mlebench demo" shows it at work; it needs neither data nor an account.
    """
