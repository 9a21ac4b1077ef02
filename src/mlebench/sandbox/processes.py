"""The processes of this machine: who descends from whom, and what they use. Standard library only on Linux."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """What a process uses."""

    parent: int
    threads: int
    resident_bytes: int
    cpu_seconds: float = 0.0  # its own and that of the children it has waited for
    born: float = 0.0  # on a clock of the machine's own


def processes() -> dict[int, Process]:
    """All processes that can be seen, by id; zombies too."""
    return _from_proc() if sys.platform == "linux" else _from_psutil()


def _from_proc() -> dict[int, Process]:
    """One file a process: five times cheaper than psutil, and this runs several times a second."""
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                # The name of the program stands in parentheses and may hold anything.
                fields = file.read().rpartition(b")")[2].split()
                used = sum(map(int, fields[11:15])) / _TICK
                resident = int(fields[21]) * _PAGE
                found[int(name)] = Process(int(fields[1]), int(fields[17]), resident, used, int(fields[19]))
    return found


def _from_psutil() -> dict[int, Process]:
    import psutil

    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error), process.oneshot():
            used, resident = sum(process.cpu_times()[:4]), process.memory_info().rss
            found[process.pid] = Process(process.ppid(), process.num_threads(), resident, used, process.create_time())
    return found


def descendants(of: int, table: Mapping[int, Process]) -> list[int]:
    """Children, grandchildren and so on of the process `of`, without itself."""
    children = defaultdict(list)
    for pid, process in table.items():
        children[process.parent].append(pid)
    found, open_ends = [], [of]
    while open_ends:
        more = children.pop(open_ends.pop(), [])
        found += more
        open_ends += more
    return found


def eldest(of: int, generations: int, table: Mapping[int, Process]) -> int | None:
    """The first-born child of the process `of`, its first-born child, and so on; None if there is none any more."""
    found: int | None = of
    for _ in range(generations):
        children = [(process.born, pid) for pid, process in table.items() if process.parent == found]
        found = min(children, default=(0, None))[1]
    return found


def send(number: signal.Signals, pids: Collection[int]) -> None:
    """Send a signal to those of `pids` that still are there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def is_killed(pid: int) -> bool:
    """Whether somebody has killed the process already, though it may still be there. Linux only, else False."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return False
    pending = (int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))
    return any(signals >> (signal.SIGKILL - 1) & 1 for signals in pending)


def proportional_bytes(pid: int) -> tuple[int, int] | None:
    """Private memory and shared memory of a process, pages of several processes divided between them.

    Files that are merely mapped don't count: the kernel can drop them. None where the kernel doesn't tell.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except (OSError, ValueError):
        return None
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    if "Pss" not in kilobytes:
        return None
    swapped = kilobytes.get("SwapPss", 0)
    # Kernels before 5.4 tell only the sum.
    private = kilobytes.get("Pss_Anon", kilobytes["Pss"])
    return (private + swapped) * 1024, kilobytes.get("Pss_Shmem", 0) * 1024


def nameless_files(tree: Collection[int]) -> tuple[int, int]:
    """Bytes on disk and in memory of files that processes of `tree` hold open but that no folder lists.

    Deleted files and memfds, each once; those in /dev/shm are left out. Linux only, else (0, 0).
    """
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    for pid in tree:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    state = entry.stat()
                    if state.st_nlink == 0 and stat.S_ISREG(state.st_mode):
                        sizes[state.st_dev, state.st_ino] = _kind_and_size(entry.path, state)
    return sum(disk for disk, _ in sizes.values()), sum(memory for _, memory in sizes.values())


def _kind_and_size(path: str, state: os.stat_result) -> tuple[int, int]:
    name, size = str(Path(path).readlink()), state.st_blocks * 512
    if name.startswith("/dev/shm/"):
        return 0, 0
    return (0, size) if name.startswith("/memfd:") else (size, 0)
