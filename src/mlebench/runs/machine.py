"""What has to be disclosed about the machine and the software."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from mlebench.files import nearest_existing

_PACKAGES = ("mlebench", "numpy", "pandas", "scikit-learn")


def hardware() -> dict[str, object]:
    """CPUs and memory that this process may use, GPUs by name, kind of machine."""
    return {
        "cpus": len(available_cpus()),
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": list(gpus()),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def memory_share(workers: int) -> int:
    """Bytes of memory for one of `workers` attempts at once, a tenth being left to the machine."""
    return psutil.virtual_memory().total * 9 // 10 // workers


def disk_share(folder: Path, workers: int) -> int:
    """Bytes of disk for one of `workers` attempts at once: of what is free now at `folder`, but for a tenth."""
    return shutil.disk_usage(nearest_existing(folder)).free * 9 // 10 // workers


@cache
def gpus() -> tuple[str, ...]:
    """Names of the GPUs that nvidia-smi sees, which takes it a second; empty without it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    query = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in found.stdout.splitlines() if line.strip())


def gpu_uuids(gpus: Sequence[int]) -> list[str]:
    """The names by which programs choose GPUs, which hold however they are numbered inside a sandbox."""
    query = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    found = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    by_index = dict(line.split(", ") for line in found.splitlines() if line.strip())
    return [by_index[str(gpu)] for gpu in gpus]


def available_cpus() -> tuple[int, ...]:
    """The processors that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)))


@contextmanager
def claimed(kind: str, candidates: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """`count` of the machine's processors ("cpu") or GPUs ("gpu") for this process alone, waiting until they are free.

    Alone among all attempts of this machine, of other runs too: a lock for each lies in the temporary folder.
    """
    if count == 0:
        yield ()
        return
    while True:
        with ExitStack() as held:
            mine: list[int] = []
            for number in candidates:
                if len(mine) == count:
                    break
                lock = FileLock(Path(tempfile.gettempdir(), f"mlebench-{os.getuid()}-{kind}-{number}.lock"))
                try:
                    held.enter_context(lock.acquire(timeout=0))
                    mine.append(number)
                except Timeout:
                    continue
            if len(mine) == count:
                yield tuple(mine)
                return
        time.sleep(random.uniform(0.2, 1))  # all or none, and not in step with others


def versions() -> dict[str, str]:
    """Versions of Python, the kernel, and the packages that results depend on."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
