"""Showing results as JSON, and the progress of long steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


def show_json(content: Any) -> None:
    """Print strict JSON on standard output: no NaN, no infinity."""
    from mlebench.files import strict

    click.echo(json.dumps(strict(content), indent=2, ensure_ascii=False, default=str))


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show the steps inside: live on a terminal, plain lines elsewhere, both on standard error."""
    from mlebench.cli.progress_display import shown
    from mlebench.preparation import progress
    from mlebench.preparation.pipeline.board import Board

    board = Board()
    with shown(board), progress.shown_on(board.display()):
        yield
