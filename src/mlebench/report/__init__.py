"""Reports on a run: on the terminal, as one HTML page, as plain values for JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def render_terminal(run: Path, console: Console, *, padded: bool = False) -> None:
    """Print the results in the run folder `run`.

    `padded`: attempts that don't count or are to come are taken as failures.
    Raises UsageError if it is no run folder, MlebenchError that names a broken file.
    """
    from mlebench.report import results, terminal

    terminal.render(results.read_run(run), console, padded)


def write_html(run: Path, target: Path, *, padded: bool = False) -> Path:
    """Write the results in the run folder `run` as one page that needs no other file; returns `target`.

    `padded` and errors are those of `render_terminal`.
    """
    from mlebench.files import write_text
    from mlebench.report import html, results

    write_text(target, html.render(results.read_run(run), padded))
    return target


def to_json(run: Path, *, padded: bool = False) -> dict[str, Any]:
    """The results in the run folder `run` as types that strict JSON has; an infinite score is the text "inf".

    `padded` and errors are those of `render_terminal`.
    """
    from mlebench.report import plain, results

    return plain.content(results.read_run(run), padded)
