"""Progress of long steps: whoever shows it sets a display, whoever works only says how far it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Display(Protocol):
    """Shows steps."""

    def start(self, text: str, total: int, unit: str) -> int:
        """Begin a step of `total` units ("B", "files", "competitions" or "") and return its handle."""
        ...

    def advance(self, step: int, amount: int) -> None:
        """`amount` more units of the step with this handle are done."""

    def finish(self, step: int) -> None:
        """The step with this handle is over."""


_DISPLAY: ContextVar[Display | None] = ContextVar("display", default=None)


class Step:
    """One step under way; call it with the amount done."""

    def __init__(self, display: Display | None, handle: int) -> None:
        self._display, self._handle = display, handle

    def __call__(self, amount: int = 1) -> None:
        """`amount` more units are done."""
        if self._display is not None:
            self._display.advance(self._handle, amount)


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Show the steps of this context on `display`."""
    token = _DISPLAY.set(display)
    try:
        yield
    finally:
        _DISPLAY.reset(token)


@contextmanager
def step(text: str, total: int, unit: str = "") -> Iterator[Step]:
    """A step of `total` units: "B" for bytes, "files", "competitions", or nothing; silent if nobody shows it."""
    display = _DISPLAY.get()
    handle = display.start(text, total, unit) if display else 0
    try:
        yield Step(display, handle)
    finally:
        if display:
            display.finish(handle)


def in_threads(text: str, function: Callable[[Item], Result], items: Sequence[Item], unit: str = "") -> list[Result]:
    """What `function` returns for each item, in order; a step of as many units, worked on by all processors."""
    from concurrent.futures import ThreadPoolExecutor

    with step(text, len(items), unit) as done, ThreadPoolExecutor(os.cpu_count() or 1) as pool:

        def one(item: Item) -> Result:
            result = function(item)
            done()
            return result

        return list(pool.map(one, items))
