"""What has to be disclosed about the machine and the software."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

import psutil

_PACKAGES = ("mlebench", "numpy", "pandas", "scikit-learn")


def hardware() -> dict[str, object]:
    """CPUs and memory that this process may use, GPUs by name, kind of machine."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpus": cpus,
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": gpus(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def memory_share(workers: int) -> int:
    """Bytes of memory for one of `workers` attempts at once, a tenth being left to the machine."""
    return psutil.virtual_memory().total * 9 // 10 // workers


def disk_share(folder: Path, workers: int) -> int:
    """Bytes of disk for one of `workers` attempts at once: of what is free now at `folder`, but for a tenth."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(existing).free * 9 // 10 // workers


def gpus() -> list[str]:
    """Names of the GPUs that nvidia-smi sees; empty without it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in found.stdout.splitlines() if line.strip()]


def versions() -> dict[str, str]:
    """Versions of Python, the kernel, and the packages that results depend on."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
