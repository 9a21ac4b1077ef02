"""What all back-ends share: keep watch over a program's processes until they end or break a limit.

Memory, processes and disk are sampled, about five times a second, and never at more than a tenth of a
processor's cost; between two samples a limit can be overstepped. Where the kernel can enforce a limit itself,
a back-end sets that too (see docs/sandbox.md).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, Sample
from mlebench.sandbox.capture import captured
from mlebench.sandbox.folders import DiskUse, make_accessible, measure, measure_on_and_on
from mlebench.sandbox.processes import (
    Process,
    descendants,
    eldest,
    is_killed,
    nameless_files,
    processes,
    proportional_bytes,
    send,
)
from mlebench.sandbox.reserves import Reserves, megabytes

PAUSE = 0.2  # seconds between samples
SHARE = 9  # and at least so many times what a sample costs
MAX_FILES = 4_000_000  # and folders: empty ones take no blocks, but the file system's places, and time to seal
KILL_SECONDS = 60
OVERHEAD_TASKS = 4  # the sandbox's own processes


class Program(Protocol):
    """What of a process (`subprocess.Popen`) is used here."""

    @property
    def pid(self) -> int:
        """All that is watched descends from it."""
        ...

    @property
    def stdout(self) -> IO[bytes] | None:
        """A pipe."""
        ...

    def poll(self) -> int | None:
        """The exit code; None as long as it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code; subprocess.TimeoutExpired after so many seconds."""
        ...


@dataclass(frozen=True)
class Watched:
    """A program that has been started, and the means to watch it.

    `process` is the outermost process, with its output in a pipe; all others descend from it. `ready` is the
    reading end of a pipe that says whether the program was reached. `kill` kills all its processes.
    `generations` says how far below `process` the program itself is: its parent is the relay.
    `shared_memory` tells how much memory its in-memory file system holds. `terminate` asks all its processes, those
    that were seen, to end.
    """

    process: Program
    ready: int
    folders: Sequence[Path]
    kill: Callable[[], None]
    generations: int
    shared_memory: Callable[[], int] = lambda: 0
    terminate: Callable[[Collection[int]], None] = lambda pids: send(signal.SIGTERM, pids)


@dataclass
class _Use:
    """What the program uses, as far as it was seen."""

    tree: list[int] = field(default_factory=list)
    program: int | None = None  # its first process
    last: Sample = field(default_factory=lambda: Sample(0, 0, 0, 0, 0))
    peak_memory: int = 0
    peak_disk: int = 0
    memory_kills: int = 0


def watch(watched: Watched, limits: Limits, output: Path, warning: str | None, observer: Observer | None) -> Outcome:
    """Wait until the program ends or breaks a limit, kill what is left of it, and say how it ended.

    `warning` names the signal that the program gets when time runs short. Raises SandboxError if the program was
    never reached, or if the machine itself runs out of memory or disk.
    """
    started = time.monotonic()
    use = _Use()
    ready = _Ready(watched.ready)
    assert watched.process.stdout is not None
    try:
        with captured(watched.process.stdout, output):
            try:
                machine = Reserves(watched.folders)
                broken = _wait(watched, limits, use, started, warning, observer, ready, machine)
                seconds = time.monotonic() - started
                own_code = watched.process.poll()
            finally:
                watched.kill()
                _reap(watched.process)
        ready.require(output)
    finally:
        os.close(watched.ready)
    make_accessible(watched.folders)
    left = measure(watched.folders)
    use.peak_disk = max(use.peak_disk, left.size)
    broken = broken or machine.used_up(use.peak_disk, use.last.memory_bytes) or _disk_full(left, limits)
    if broken is None:
        broken = ("completed", "") if own_code == 0 else ("agent-error", _code_message(own_code))
    end, message = broken
    return Outcome(end, own_code, seconds, use.peak_memory, use.peak_disk, message, use.memory_kills)


def _wait(
    watched: Watched,
    limits: Limits,
    use: _Use,
    started: float,
    warning: str | None,
    observer: Observer | None,
    ready: _Ready,
    machine: Reserves,
) -> tuple[str, str] | None:
    """The end and its reason if a limit is broken or `observer` stops the program, else None."""
    deadline = started + limits.seconds
    warn_at = deadline - limits.warning_seconds if warning and limits.warning_seconds else None
    stopped: tuple[str, str] | None = None
    kill_at = deadline
    disk = measure_on_and_on(watched.folders)
    pause = PAUSE / 2
    while not _ended(watched.process, min(pause, max(0.0, kill_at - time.monotonic()))):
        before = time.monotonic()
        ready.look()
        broken = _sample(watched, limits, use, disk, before - started)
        if broken:
            return broken
        if machine.is_in_need():
            return None
        if warning and warn_at is not None and before >= warn_at and use.program is not None:
            send(signal.Signals[warning], [use.program])
            warn_at = None
        if stopped is None:
            if before >= deadline:
                stopped = ("timeout", f"the time limit of {limits.seconds:g} seconds was reached")
            elif observer is not None:
                stopped = observer(use.last)
            if stopped is not None:
                watched.terminate(use.tree)
                kill_at = time.monotonic() + limits.grace_seconds
        elif before >= kill_at:
            break
        pause = max(min(PAUSE, 2 * pause), SHARE * (time.monotonic() - before))
    return stopped


def _ended(process: Program, timeout: float) -> bool:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        return False
    return True


def _sample(
    watched: Watched, limits: Limits, use: _Use, disk: Iterator[DiskUse | None], seconds: float
) -> tuple[str, str] | None:
    """Look once at everything; the end and its reason if a limit is broken."""
    table = processes()
    use.tree = descendants(watched.process.pid, table)
    use.program = eldest(watched.process.pid, watched.generations, table) or use.program
    tasks = sum(table[pid].threads for pid in use.tree)
    cpu = max(use.last.cpu_seconds, sum(table[pid].cpu_seconds for pid in use.tree))
    deleted, nameless = nameless_files(use.tree)
    memory = memory_use(use.tree, table, watched.shared_memory() + nameless, limits.memory_bytes)
    use.peak_memory = max(use.peak_memory, memory)
    used = next(disk)
    if used is not None:
        used.size += deleted
        use.peak_disk = max(use.peak_disk, used.size)
    use.last = Sample(seconds, cpu, memory, use.last.disk_bytes if used is None else used.size, tasks)
    excess = 0 if limits.memory_bytes is None else memory - limits.memory_bytes
    if limits.memory_bytes is not None and excess > 0 and not _kill_largest_children(use, table, excess):
        return "out-of-memory", f"{megabytes(memory)} in use, {megabytes(limits.memory_bytes)} allowed"
    if limits.processes is not None and tasks > limits.processes + OVERHEAD_TASKS:
        return "agent-error", f"{tasks:,} processes and threads, {limits.processes:,} allowed"
    return None if used is None else _disk_full(used, limits)


def _kill_largest_children(use: _Use, table: Mapping[int, Process], excess: int) -> bool:
    """Kill what the program started and uses most memory, so that the program itself can go on; False if nothing is.

    As many as it takes to free `excess` bytes; the next sample shows whether that was enough.
    """
    if use.program is None:
        return False
    children = [pid for pid in descendants(use.program, table) if table[pid].resident_bytes > 0]
    chosen = []
    for pid in sorted(children, key=lambda pid: table[pid].resident_bytes, reverse=True):
        if excess <= 0:
            break
        chosen.append(pid)
        excess -= table[pid].resident_bytes
    killed = [pid for pid in chosen if not is_killed(pid)]  # the kernel may have been faster, and counts its own
    send(signal.SIGKILL, killed)
    use.memory_kills += len(killed)
    return bool(chosen)


def memory_use(tree: Collection[int], table: Mapping[int, Process], shared: int, limit: int | None) -> int:
    """Bytes that the processes of `tree` use together, `shared` being held by an in-memory file system.

    The sum of resident sizes is cheap but counts shared pages many times over; only where it exceeds the limit
    the kernel is asked for proportions, which takes milliseconds a gigabyte.
    """
    resident = sum(table[pid].resident_bytes for pid in tree) + shared
    if limit is None or resident <= limit:
        return resident
    private = mapped = 0
    for pid in tree:
        proportional = proportional_bytes(pid) or (table[pid].resident_bytes, 0)
        private += proportional[0]
        mapped += proportional[1]
    return private + max(mapped, shared)


def _disk_full(use: DiskUse, limits: Limits) -> tuple[str, str] | None:
    """The end and its reason if the limit is broken; what can't be measured must not be a place to hide in."""
    if limits.disk_bytes is None:
        return None
    if not use.whole:
        return "disk-full", "a folder can't be measured: it is unreadable or nested too deeply"
    if use.files > MAX_FILES:
        return "disk-full", f"{use.files:,} files and folders, {MAX_FILES:,} allowed"
    if use.size > limits.disk_bytes:
        return "disk-full", f"{megabytes(use.size)} on disk, {megabytes(limits.disk_bytes)} allowed"
    return None


class _Ready:
    """Whether the program was reached. Looked at while it runs: what is in a pipe, others might take out."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._said = pipe, b""
        os.set_blocking(pipe, False)

    def look(self) -> None:
        """Read what was said."""
        with suppress(BlockingIOError):
            self._said = self._said or os.read(self._pipe, 16)

    def require(self, output: Path) -> None:
        """Raise SandboxError if the program was never reached."""
        self.look()
        if not self._said.startswith(b"ready"):
            with output.open("rb") as file:
                tail = file.read(2000).decode(errors="replace").strip()
            raise SandboxError(f"the sandbox could not be set up: {tail or 'it ended without a word'}")


def _reap(process: Program) -> None:
    try:
        process.wait(KILL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"process {process.pid} does not end although it was killed") from error


def _code_message(code: int | None) -> str:
    if code is not None and code > 128:
        with suppress(ValueError):
            return f"ended by {signal.Signals(code - 128).name}"
    return f"exit code {code}"
