"""Which parts of a system an agent sees: programs and libraries, and no more of /etc than these need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mlebench.errors import SandboxError
from mlebench.sandbox import World

TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # beside usr; links to folders in it, most of the time
FILES = (  # all else of /etc stays outside
    "etc/ld.so.cache",
    "etc/ld.so.conf",
    "etc/ld.so.conf.d",
    "etc/alternatives",
    "etc/fonts",
    "etc/localtime",
    "etc/mime.types",
    "etc/ssl/certs",
    "nix/store",
)
DEFAULT_SHARED_MEMORY = 4 << 30


def shared_memory(memory_bytes: int | None) -> int:
    """How many bytes /dev/shm holds inside."""
    return DEFAULT_SHARED_MEMORY if memory_bytes is None else max(memory_bytes // 2, 1 << 20)


def is_real_root() -> bool:
    """Root of the machine, and not merely of a container's user namespace."""
    if os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def own_python() -> str:
    """The interpreter that runs our own scripts, outside any virtual environment."""
    return os.path.realpath(sys.executable)


def inner_python(world: World) -> str:
    """The interpreter that runs our own scripts inside."""
    return own_python() if world.root is None else "/usr/bin/python3"


def shell(world: World) -> str:
    """The agent's login shell: bash where the system has it, which command-line agents expect."""
    there = world.image is None and ((world.root or Path("/")) / "usr/bin/bash").exists()
    return "/bin/bash" if there else "/bin/sh"


def counts_processes_by_namespace() -> bool:
    """Whether RLIMIT_NPROC does; before Linux 5.14, all processes of the user on the machine counted."""
    version = os.uname().release.split("-")[0].split(".")
    return (int(version[0]), int(version[1])) >= (5, 14)


def links(root: Path) -> dict[str, str]:
    """What at the top of the system `root` is a link, and where to."""
    return {name: str((root / name).readlink()) for name in TOP if (root / name).is_symlink()}


def parts(root: Path) -> list[tuple[Path, str]]:
    """Folders and files of the system `root`, each with its place inside."""
    names = ["usr", *(name for name in TOP if not (root / name).is_symlink()), *FILES]
    return [(root / name, f"/{name}") for name in names if (root / name).exists()]


def gpu_devices(gpus: Sequence[int], folder: Path = Path("/dev")) -> list[Path]:
    """NVIDIA's devices: those that were given to the attempt, and what all share."""
    if not gpus:
        return []
    return [*(folder / f"nvidia{number}" for number in gpus), *sorted(folder.glob("nvidia[-c]*"))]


def prefixes(world: World) -> list[Path]:
    """Folders that must be there for the agent's programs and for our relay; nested ones once."""
    wanted = [] if world.root is not None else [Path(own_python()).parent.parent]
    for prefix in [*([world.python] if world.python else []), *world.software]:
        wanted += [prefix.absolute(), *([] if world.root is not None else interpreters(prefix))]
    home = Path.home()
    found: list[Path] = []
    for path in sorted(set(wanted)):
        if path in (home, home / ".local", *home.parents):
            raise SandboxError(f"the environment {path} would show {home} to the agent; use one of its own")
        if not any(path.is_relative_to(known) for known in (Path("/usr"), *found)):
            found.append(path)
    return found


def interpreters(prefix: Path) -> list[Path]:
    """Where the Python of a virtual environment is installed, and where links to it may go through."""
    if not (prefix / "bin" / "python3").exists():
        return []
    found = [Path(os.path.realpath(prefix / "bin" / "python3")).parent.parent]
    with suppress(OSError):
        for line in (prefix / "pyvenv.cfg").read_text().splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "home":
                found.append(Path(value.strip()).parent)
    return found


def require_readable(world: World) -> None:
    """Where the agent is another user than the caller, its world must be readable to that one."""
    notices = [] if world.notices is None else [world.notices]
    for path in (world.data, world.agent, *notices, *world.home_files.values(), *prefixes(world)):
        needed = 0o005 if path.is_dir() else 0o004
        if path.stat().st_mode & needed != needed:
            raise SandboxError(f"{path} must be readable to all: chmod -R a+rX '{path}'")
