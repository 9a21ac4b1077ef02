"""Finding a Python, and programs that build environments, on the host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OLDEST = ">=3.11"
_NAMES = ("python3.13", "python3.12", "python3.14", "python3.11", "python3")
_ASK = """
import json, platform, sys, sysconfig
print(json.dumps({
    "executable": getattr(sys, "_base_executable", sys.executable),
    "prefix": sys.base_prefix,
    "version": platform.python_version(),
    "implementation": sys.implementation.name,
    "platform": sysconfig.get_platform(),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """An installed Python, outside any virtual environment."""

    executable: str
    prefix: str
    version: str
    implementation: str
    platform: str


def find_interpreter(versions: str) -> Interpreter | None:
    """The Python of the host to build with: the one that runs this if it suits, else one on PATH, else one of uv's."""
    return _find_interpreter(versions or OLDEST, os.environ.get("PATH", ""), find_uv())


@cache
def _find_interpreter(versions: str, path: str, uv: str | None) -> Interpreter | None:
    from packaging.specifiers import SpecifierSet

    suits = SpecifierSet(versions)
    for executable in _candidates(versions, path, uv):
        found = examine(executable)
        if found and suits.contains(found.version, prereleases=True):
            return found
    return None


def _candidates(versions: str, path: str, uv: str | None) -> Iterator[str]:
    yield sys.executable
    for name in _NAMES:
        if found := shutil.which(name, path=path):
            yield found
    if uv:
        command = [uv, "python", "find", "--system", "--no-python-downloads", "--no-project", versions]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            yield result.stdout.strip()


@cache
def examine(executable: str) -> Interpreter | None:
    """What this Python says of itself; None if it doesn't run, as the stand-in of a version manager may not."""
    try:
        result = subprocess.run(
            [executable, "-I", "-c", _ASK], capture_output=True, text=True, check=True, timeout=60, cwd="/"
        )
        return Interpreter(**json.loads(result.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def find_uv() -> str | None:
    """The program uv: what MLEBENCH_UV names (if that is empty, none), else on PATH or installed beside this Python."""
    if (given := os.environ.get("MLEBENCH_UV")) is not None:
        return shutil.which(given)
    beside = Path(sys.executable).with_name("uv")
    return shutil.which("uv") or (str(beside) if beside.is_file() else None)


@dataclass(frozen=True)
class Node:
    """An installed Node.js."""

    executable: str
    version: str

    @property
    def prefix(self) -> Path:
        """The folder above its `bin`."""
        return Path(self.executable).parent.parent


def find_node() -> Node | None:
    """The `node` on PATH, behind whatever stands in for it."""
    path = shutil.which("node")
    return _examine_node(path) if path else None


@cache
def _examine_node(path: str) -> Node | None:
    try:
        command = [path, "-p", "process.execPath + '\\n' + process.version"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split("\n")
        return Node(os.path.realpath(said[0]), said[1])
    except (OSError, subprocess.SubprocessError, IndexError):
        return None
