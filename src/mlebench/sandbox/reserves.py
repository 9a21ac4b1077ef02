"""What the machine keeps of its memory and disk, whoever uses them up; and who is to blame if it lacks them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mlebench.errors import SandboxError

RESERVE_MEMORY = 256 << 20
RESERVE_DISK = 256 << 20


class Reserves:
    """The machine's own memory and disk: a program is stopped before the machine is in need.

    It is to blame if more than half of what was used up since its start is its own; else nobody is, for then it
    can't be told who is. Raises SandboxError if too little is left at the start.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._disk_at_first, self._memory_at_first = self._free_disk(), _free_memory()
        if self.is_in_need():
            raise SandboxError(self._lack())

    def is_in_need(self) -> bool:
        """Whether too little is left now."""
        self._disk, self._memory = self._free_disk(), _free_memory()
        return bool(self._lack())

    def used_up(self, disk_bytes: int, memory_bytes: int) -> tuple[str, str] | None:
        """The end and its reason if too little was left when last looked at and the program is to blame.

        `disk_bytes` and `memory_bytes` are what it used itself. Raises SandboxError if too little was left for
        other reasons.
        """
        if not (lack := self._lack()):
            return None
        end, own, lost = "disk-full", disk_bytes, self._disk_at_first - self._disk
        if self._disk >= RESERVE_DISK:
            end, own, lost = "out-of-memory", memory_bytes, self._memory_at_first - self._memory
        if 2 * own > lost:
            return end, f"{lack}, and {megabytes(own)} were in use here"
        raise SandboxError(lack)

    def _lack(self) -> str:
        if self._disk < RESERVE_DISK:
            return f"less than {megabytes(RESERVE_DISK)} of disk are left"
        if self._memory < RESERVE_MEMORY:
            return f"less than {megabytes(RESERVE_MEMORY)} of the machine's memory are left"
        return ""

    def _free_disk(self) -> int:
        try:
            states = [os.statvfs(folder) for folder in self._folders]
        except FileNotFoundError as error:
            raise SandboxError(f"the folder {error.filename} is not there") from error
        return min(state.f_bavail * state.f_frsize for state in states)


def _free_memory() -> float:
    """Bytes of the machine's memory that programs could have; infinity where that isn't told."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return math.inf


def megabytes(size: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{size / (1 << 20):,.0f} MiB"
