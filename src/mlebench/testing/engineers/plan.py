"""What an engineer intends, in steps that no agent's way of acting shows in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Run:
    """Run a shell command. `text` is what the engineer says about it."""

    command: str
    text: str = "I run a command."


@dataclass(frozen=True)
class Write:
    """Write a Python script into the working folder."""

    name: str
    code: str
    text: str = "I write a script."


@dataclass(frozen=True)
class Execute:
    """Execute a script of the working folder."""

    name: str
    text: str = "I execute the script."


@dataclass(frozen=True)
class Look:
    """See where everything is."""

    text: str = "I look at the files first."


@dataclass(frozen=True)
class Check:
    """Ask whether the submission is valid."""

    text: str = "I validate the submission."


@dataclass(frozen=True)
class Done:
    """Say that the work is finished."""

    text: str = "The submission is in place. I am done."


Step = Run | Write | Execute | Look | Check | Done


@dataclass(frozen=True)
class Plan:
    """Steps in their order. When they are used up the last one is repeated: for ever, unless it is `Done`."""

    steps: Sequence[Step]

    @property
    def scripts(self) -> list[Write]:
        """The steps that write a script."""
        return [step for step in self.steps if isinstance(step, Write)]


def script(name: str, **settings: float | int | str) -> str:
    """The text of one of the engineers' scripts, with other values in its lines `NAME = value`.

    >>> "QUALITY = 0.5\\n" in script("solve", QUALITY=0.5)
    True
    """
    code = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    return with_settings(code, settings)


def with_settings(code: str, settings: Mapping[str, float | int | str]) -> str:
    """`code` with other values in its lines `NAME = value`; raises KeyError if one has no such line."""
    for setting, value in settings.items():
        line = re.compile(rf"^{setting} = .*$", re.MULTILINE)
        if not line.search(code):
            raise KeyError(f"the script has no line {setting} = ...")
        code = line.sub(lambda _, text=f"{setting} = {value!r}": text, code, count=1)
    return code
