"""Showing a board: live on a terminal, as plain lines elsewhere; both on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.text import Text

from mlebench.preparation.pipeline.board import Board, Row, Totals

# columns
GAP, LEAST_NAME, STEP, AMOUNT, PACE, NARROWEST_BAR, WIDEST_BAR = 2, 20, 20, 13, 9, 8, 24


class Shown(Protocol):
    """What shows a board."""

    def say(self, text: str, err: bool = False) -> None:
        """Print a line that stays."""


@contextmanager
def shown(board: Board) -> Iterator[Shown]:
    """Show the board while the block runs."""
    display = _Terminal(board) if sys.stderr and sys.stderr.isatty() else _Lines(board)
    with display:
        yield display


class _Terminal:
    """Totals and what is under way, drawn anew four times a second."""

    def __init__(self, board: Board) -> None:
        self._picture, self._console = _Picture(board), Console(stderr=True)

    def __enter__(self) -> _Terminal:
        self._live = Live(self._picture, console=self._console, transient=True, refresh_per_second=4)
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str, err: bool = False) -> None:
        """Above what is drawn, which is taken away meanwhile: standard output may be the same terminal."""
        self._live.stop()
        click.echo(text, err=err)
        self.__enter__()


class _Picture:
    """The board as it is when it is drawn."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield picture(self._board, options.max_width, options.max_height or console.height)


def picture(board: Board, width: int, height: int) -> Group:
    """Totals first if there are several competitions, then a line for each that is under way, as far as they fit."""
    rows, totals = board.rows(), board.totals()
    parts = [Text("")]  # apart from the lines that stay
    if totals.competitions > 1:
        parts += [Text(line, style="bold", no_wrap=True, overflow="ellipsis") for line in _summary(totals)]
    places = max(1, height - len(parts) - 2)
    parts += _lines(rows[:places], width, with_time_left=totals.competitions <= 1)
    if len(rows) > places:
        parts.append(Text(f"and {len(rows) - places} more", style="dim"))
    return Group(*parts)


def _summary(totals: Totals) -> list[str]:
    facts = [f"{totals.done} of {totals.competitions} competitions"]
    if totals.bytes_done or totals.bytes_total:
        facts.append(f"{amounts(totals.bytes_done, totals.bytes_total, 'B')} downloaded")
    if totals.speed is not None:
        facts.append(f"{size(totals.speed)}/s")
    if totals.seconds_left is not None:
        facts.append(f"{about(totals.seconds_left)} left")
    return [" · ".join(facts), *([totals.note] if totals.note else [])]


def _lines(rows: list[Row], width: int, with_time_left: bool) -> list[Text]:
    """Columns stay where they are while steps change, but for those of a step without amounts, which needs none."""
    facts = [(row, _amounts_of(row), _pace(row, with_time_left)) for row in rows]
    amount = max([AMOUNT, *(len(text) for _, text, _ in facts)])
    pace = max([PACE, *(len(text) for _, _, text in facts)])
    names = max((len(row.name) for row in rows), default=0)
    name = min(names, max(LEAST_NAME, width - STEP - amount - pace - 3 * GAP))
    lines = []
    for row, done, speed in facts:
        line = Text(no_wrap=True, overflow="ellipsis")
        if name:
            line.append(_fitted(row.name, name) + " " * GAP, "cyan")
        if done:
            left = width - len(line) - amount - pace - 2 * GAP
            line.append(_fitted(row.text, min(STEP, left)) + " " * GAP)
            line.append_text(_bar(row, min(left - STEP - GAP, WIDEST_BAR)))
            line.append(done.rjust(amount) + " " * GAP).append(speed.rjust(pace), "dim")
        else:
            line.append(row.text)
        lines.append(line)
    return lines


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: max(0, width - 1)] + "…"


def _bar(row: Row, width: int) -> Text:
    """With the gap after it; nothing where there is no room."""
    if width < NARROWEST_BAR:
        return Text("")
    filled = min(width, width * row.done // row.total)
    return Text.assemble(("━" * filled, "cyan"), ("━" * (width - filled), "bright_black"), " " * GAP)


def _amounts_of(row: Row) -> str:
    return amounts(row.done, row.total, row.unit) if row.total > 1 else ""


def _pace(row: Row, with_time_left: bool) -> str:
    if row.speed is None:
        return ""
    left = row.seconds_left if with_time_left else None
    return f"{size(row.speed)}/s" + (f", {about(left)} left" if left is not None else "")


class _Lines:
    """Lines without times of day: of each step that takes long, at most one in ten seconds, and fewer later on."""

    EVERY = 10.0
    SHARE = 0.1  # of the time that something has taken already

    def __init__(self, board: Board) -> None:
        self._board = board
        self._said: dict[str, float] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Lines:
        self._begun = self._board.clock()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def say(self, text: str, err: bool = False) -> None:
        """Print it."""
        click.echo(text, err=err)

    def _run(self) -> None:
        while not self._ending.wait(self.EVERY / 10):
            self._say_what_takes_long()

    def _say_what_takes_long(self) -> None:
        rows, totals = self._board.rows(), self._board.totals()
        for row in rows:
            if self._is_due(row.name or row.text, row.since):
                click.echo(line(row), err=True)
        under_way = {row.name or row.text for row in rows} | {""}
        self._said = {key: when for key, when in self._said.items() if key in under_way}
        if totals.competitions > 1 and rows and self._is_due("", self._begun):
            click.echo("; ".join(_summary(totals)), err=True)

    def _is_due(self, key: str, since: float) -> bool:
        now = self._board.clock()
        last = self._said.setdefault(key, since)
        if now - last < max(self.EVERY, (now - since) * self.SHARE):
            return False
        self._said[key] = now
        return True


def line(row: Row) -> str:
    """A row as text.

    >>> line(Row("dog-breed", "downloading", 12_300_000_000, 40_100_000_000, "B", 85e6))
    'dog-breed: downloading, 12.3 of 40.1 GB at 85 MB/s'
    """
    start = f"{row.name}: {row.text}" if row.name else row.text
    if row.total > 1:
        start += f", {amounts(row.done, row.total, row.unit).replace('/', ' of ')}"
    return start + (f" at {size(row.speed)}/s" if row.speed is not None else "")


def amounts(done: int, total: int | None, unit: str) -> str:
    """How much of how much.

    >>> amounts(12_300_000_000, 40_100_000_000, "B"), amounts(12_300_000, 40_100_000_000, "B")
    ('12.3/40.1 GB', '12 MB/40.1 GB')
    >>> amounts(1200, 50_000, "files"), amounts(500, None, "B")
    ('1,200/50,000 files', '500 B')
    """
    if unit == "B":
        if total is None:
            return size(done)
        factor, name = _scale(total)
        if 0 < done < factor / 20:  # which would be shown as 0.0
            return f"{size(done)}/{size(total)}"
        return f"{_digits(done / factor, factor)}/{_digits(total / factor, factor)} {name}"
    text = f"{done:,}/{total:,}" if total is not None else f"{done:,}"
    return f"{text} {unit}" if unit else text


def size(amount: float) -> str:
    """Bytes as text.

    >>> size(85_400_000), size(8_540_000), size(12_340_000_000), size(999)
    ('85 MB', '8.5 MB', '12.3 GB', '999 B')
    """
    factor, name = _scale(amount)
    number = amount / factor
    return f"{number:.1f} {name}" if number < 10 and factor > 1 else f"{_digits(number, factor)} {name}"


def _scale(amount: float) -> tuple[float, str]:
    scales = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    return next(((factor, name) for factor, name in scales if amount >= factor), (1, "B"))


def _digits(number: float, factor: float) -> str:
    return f"{number:,.1f}" if factor >= 1e9 else f"{number:,.0f}"


def about(seconds: float) -> str:
    """A time that is not known better.

    >>> about(20), about(400), about(1000), about(9500), about(40_000), about(400_000)
    ('less than a minute', 'about 7 min', 'about 15 min', 'about 2.5 h', 'about 11 h', 'about 5 days')
    """
    minutes, hours = seconds / 60, seconds / 3600
    if minutes < 1:
        return "less than a minute"
    if minutes < 10:
        return f"about {minutes:.0f} min"
    if minutes < 57:
        return f"about {round(minutes / 5) * 5} min"
    if hours < 10:
        return f"about {round(hours * 2) / 2:g} h"
    return f"about {hours:.0f} h" if hours < 48 else f"about {hours / 24:.0f} days"
