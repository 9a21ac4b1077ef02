"""Where an attempt runs: a small protocol, a table of back-ends, one module each.

`--sandbox` takes a name from the table or a dotted path `module:Class`; nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mlebench.errors import UsageError

SANDBOXES = {
    "bubblewrap": "mlebench.sandbox.bubblewrap:Bubblewrap",
    "docker": "mlebench.sandbox.docker:Docker",
    "apptainer": "mlebench.sandbox.apptainer:Apptainer",
    "none": "mlebench.sandbox.unsandboxed:Unsandboxed",
}

VARIANTS = ("docker",)  # that take a word more, after a colon
PREFERENCE = (
    "bubblewrap",
    "docker",
    "apptainer",
)  # of those that isolate: the quickest and the least in need of others first


@dataclass(frozen=True)
class World:
    """All that a program in a sandbox may see and use, as paths of the host.

    Inside stand `/home/data` (read-only), `/home/submission`, `/home/code`, `/home/logs` (writable, kept),
    `/home/agent` (read-only), and the read-only files of `home_files` below `/home`, which may take the place
    of one of `data`. Each port of `sockets` listens on the inside's localhost and leads to a Unix socket of the
    host. `python` is the prefix of a Python environment that must work inside under the same path (read-only), as
    must those of other programs, `software`; their `bin` come first on PATH. `root` is a folder with the tree of a
    whole system that takes the place of the host's, `image` the name of one for engines of containers.
    `/home/notices` shows what is put into the folder `notices` meanwhile.
    """

    data: Path
    submission: Path
    code: Path
    logs: Path
    agent: Path
    home_files: Mapping[str, Path] = field(default_factory=dict)  # name below /home -> file of the host
    sockets: Mapping[int, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)  # nothing else of the host's is passed on
    python: Path | None = None
    software: Sequence[Path] = ()
    root: Path | None = None
    image: str | None = None
    notices: Path | None = None
    warning_signal: str | None = None  # what the agent's first process gets when time runs short: "SIGUSR1"


@dataclass(frozen=True)
class Limits:
    """What a program may use; None means no limit of ours."""

    seconds: float
    memory_bytes: int | None = None  # of all its processes together
    processes: int | None = None  # processes and threads
    disk_bytes: int | None = None  # of submission, code, logs and scratch together
    cpus: Sequence[int] | None = None  # which processors
    gpus: Sequence[int] = ()  # which of NVIDIA's devices
    grace_seconds: float = 10  # between SIGTERM and SIGKILL
    warning_seconds: float | None = None  # so long before the end of time comes the world's warning signal


@dataclass(frozen=True)
class Outcome:
    """How a program ended. `end` is a name from `mlebench.errors.ENDS`."""

    end: str
    exit_code: int | None  # of the program; None if it was killed
    seconds: float
    peak_memory_bytes: int
    peak_disk_bytes: int
    message: str = ""  # for the person who reads the report
    memory_kills: int = 0  # children that were killed because all together used too much memory


@dataclass(frozen=True)
class Sample:
    """What a program uses at one moment; `disk_bytes` is the last whole measurement."""

    seconds: float  # since its start
    cpu_seconds: float  # of all its processes that live or were seen
    memory_bytes: int
    disk_bytes: int
    processes: int  # and threads


Observer = Callable[[Sample], tuple[str, str] | None]  # returns an end and its reason to stop the program


class Sandbox(Protocol):
    """Runs one program in an isolated world. All that it may see and use is in `world` and `limits`."""

    name: str

    def unavailable(self) -> str | None:
        """Why this machine can't use it and what to do about it; None if it can."""
        ...

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` until it ends or breaks a limit, kill all that it left behind, say how it ended.

        `command` is in terms of the inside. What it prints goes to the file `output` (bounded in size).
        Working directory: `/home/code`. SandboxError if the sandbox itself fails. Ends of its own: completed
        (exit code 0), agent-error (another code), timeout, out-of-memory, disk-full, and what `observer` returns:
        it is called a few times a second with what is used, and ends the program as the time limit does, with
        SIGTERM first. An exception raised in the calling thread (KeyboardInterrupt for one) or by `observer` leaves
        no process behind.
        """
        ...


def find_sandbox(name: str) -> Sandbox:
    """The back-end with this name, or at this dotted path. Raises UsageError if there is none.

    `docker:RUNTIME` is `docker` with another of the engine's runtimes, such as gVisor's `runsc`.
    """
    base, separator, variant = name.partition(":")
    if not separator and base not in SANDBOXES:
        raise UsageError(f'no sandbox "{name}"; there are {", ".join(SANDBOXES)}')
    if base not in SANDBOXES:
        return _imported(name)()
    if variant and base not in VARIANTS:
        raise UsageError(f'the sandbox {base} has no variants, so there is no "{name}"')
    return _imported(SANDBOXES[base])(*filter(None, [variant]))


def best() -> tuple[str | None, list[tuple[str, str]]]:
    """The first sandbox of our preference that isolates and works here, and why those before it don't.

    None if there is none, with the reason of each.
    """
    reasons = []
    for name in PREFERENCE:
        reason = find_sandbox(name).unavailable()
        if reason is None:
            return name, reasons
        reasons.append((name, reason))
    return None, reasons


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
