"""Where an attempt runs: a small protocol, a table of back-ends, one module each.

`--sandbox` takes a name from the table or a dotted path `module:Class`; nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mlebench.errors import UsageError

SANDBOXES = {
    "bubblewrap": "mlebench.sandbox.bubblewrap:Bubblewrap",
    "none": "mlebench.sandbox.unsandboxed:Unsandboxed",
}


@dataclass(frozen=True)
class World:
    """All that a program in a sandbox may see and use, as paths of the host.

    Inside stand `/home/data` (read-only), `/home/submission`, `/home/code`, `/home/logs` (writable, kept),
    `/home/agent` (read-only), and the read-only files of `home_files` below `/home`, which may take the place
    of one of `data`. Each port of `sockets` listens on the inside's localhost and leads to a Unix socket of the
    host. `python` is the prefix of a Python environment that must work inside under the same path (read-only).
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


@dataclass(frozen=True)
class Limits:
    """What a program may use; None means no limit of ours."""

    seconds: float
    memory_bytes: int | None = None  # of all its processes together
    processes: int | None = None  # processes and threads
    disk_bytes: int | None = None  # of submission, code, logs and scratch together
    cpus: Sequence[int] | None = None  # which processors
    grace_seconds: float = 10  # between SIGTERM and SIGKILL


@dataclass(frozen=True)
class Outcome:
    """How a program ended. `end` is a name from `mlebench.errors.ENDS`."""

    end: str
    exit_code: int | None  # of the program; None if it was killed
    seconds: float
    peak_memory_bytes: int
    peak_disk_bytes: int
    message: str = ""  # for the person who reads the report


class Sandbox(Protocol):
    """Runs one program in an isolated world. All that it may see and use is in `world` and `limits`."""

    name: str

    def unavailable(self) -> str | None:
        """Why this machine can't use it and what to do about it; None if it can."""
        ...

    def run(self, world: World, command: Sequence[str], limits: Limits, output: Path) -> Outcome:
        """Run `command` until it ends or breaks a limit, kill all that it left behind, say how it ended.

        `command` is in terms of the inside. What it prints goes to the file `output` (bounded in size).
        Working directory: `/home/code`. SandboxError if the sandbox itself fails. Ends of its own: completed
        (exit code 0), agent-error (another code), timeout, out-of-memory, disk-full. An exception raised in
        the calling thread (KeyboardInterrupt for one) leaves no process behind.
        """
        ...


def find_sandbox(name: str) -> Sandbox:
    """The back-end with this name, or at this dotted path. Raises UsageError if there is none."""
    path = SANDBOXES.get(name, name)
    module, separator, attribute = path.partition(":")
    if not separator:
        raise UsageError(f'no sandbox "{name}"; there are {", ".join(SANDBOXES)}')
    return getattr(importlib.import_module(module), attribute)()
