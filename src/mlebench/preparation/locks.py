"""A lock that holds between processes, between the hosts of a network file system, and outlives no holder.

`flock` is what a lock usually rests on; over NFS and some cluster file systems it fails, or holds on one host only.
This one is a file that only one process can create (`O_EXCL`, which NFS keeps), the lease of the library filelock: it
names its holder by host, process and start time, and a thread of the holder renews it. Who waits takes it over

- at once, if the holder was a process of the same host (and container) and is gone, however it ended;
- after `SILENCE` seconds without renewal, by the waiting host's own clock, if the holder was on another host, or is a
  zombie that nobody waits for (in containers without an init).

A holder that is silent so long and lives nevertheless (stopped by a debugger, a file system that hung) has lost the
lock; `require_held` tells it, and it must not move anything into place then.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import SoftFileLease, Timeout

from mlebench.errors import PreparationError
from mlebench.preparation import progress

SILENCE = 300.0  # the longest that a holder may hold Python's interpreter without a break is far below
_RENEWALS = 15  # in `SILENCE`
_POLL = 0.2
_UNWRITTEN = 60.0  # seconds after which a lock file without a name in it is what a killed process left

Lock = SoftFileLease


@contextmanager
def held(path: Path, purpose: str, silence: float = SILENCE) -> Iterator[Lock]:
    """Hold the lock `path`, whose folder must exist; waits for another holder and says so as progress.

    `purpose` is what the lock is wanted for. All who use the same path must agree on `silence`.
    """
    lock = _lease(path, silence)
    if not _acquired(lock):
        _wait(lock, purpose)
    try:
        yield lock
    finally:
        lock.release()


@contextmanager
def held_if_free(path: Path, silence: float = SILENCE) -> Iterator[bool]:
    """Hold the lock if nobody else does; whether that is so."""
    lock = _lease(path, silence)
    free = _acquired(lock)
    try:
        yield free
    finally:
        if free:
            lock.release()


def require_held(lock: Lock) -> None:
    """Raise PreparationError if another process has taken the lock over."""
    if lock.compromise is not None:
        raise PreparationError(
            f"this process was silent for more than {lock.lease_duration:.0f} seconds, so that another one took over "
            f"{lock.lock_file}; what it made is thrown away"
        )


def _lease(path: Path, silence: float) -> Lock:
    return SoftFileLease(path, lease_duration=silence, heartbeat_interval=silence / _RENEWALS)


def _acquired(lock: Lock) -> bool:
    """One attempt; a dead holder's lock is taken over by it."""
    for _ in range(2):  # the first one may only clear away what a dead holder left
        with suppress(Timeout):
            lock.acquire(blocking=False)
            return True
    return False


def _wait(lock: Lock, purpose: str) -> None:
    while True:
        with progress.step(f"{purpose}: waiting for {_holder(lock)}", 1):
            named = _holder(lock)
            while _holder(lock) == named:
                _clear_unwritten(Path(lock.lock_file))
                with suppress(Timeout):
                    lock.acquire(timeout=_POLL * 5, poll_interval=_POLL)
                    return


def _holder(lock: Lock) -> str:
    owner = lock.owner
    return f"process {owner.pid} on {owner.hostname}" if owner else "another process"


def _clear_unwritten(path: Path) -> None:
    """Remove a lock file that names nobody: its maker was killed before it could write, a moment after creating it.

    The age is measured by the file system's own clock: against that of a file created now.
    """
    with suppress(OSError):
        found = path.stat()
        if found.st_size:
            return
        with tempfile.NamedTemporaryFile(prefix=f"{path.name}.", dir=path.parent) as now:
            age = os.fstat(now.fileno()).st_mtime - found.st_mtime
        if age > _UNWRITTEN and path.stat().st_ino == found.st_ino and not path.stat().st_size:
            path.unlink()
