"""Environments as folders of the host: a virtual environment of Python and the packages of Node.js.

A virtual environment can't be moved, so it is built where it will stand; what lacks a manifest is unfinished.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mlebench.environments import Environment, digest_of, digest_of_file, environments_dir, roots
from mlebench.environments.locks import base_files, base_sources, has_hashes, require_pinned
from mlebench.environments.pythons import OLDEST, Interpreter, Node, find_interpreter, find_node
from mlebench.environments.software import Software
from mlebench.environments.steps import Say, Steps
from mlebench.environments.venv import VirtualEnvironment, open_folders
from mlebench.errors import UsageError
from mlebench.files import remove_tree, write_json

FORMAT = 1  # of the folder; a change makes all digests new


@dataclass(frozen=True)
class Plan:
    """What is to be built, from what, and where."""

    software: Software
    interpreter: Interpreter | None  # of the host
    root: roots.Root | None  # or of a system of its own
    node: Node | None

    @property
    def wish(self) -> dict[str, Any]:
        """Everything that decides what the environment will be."""
        software = self.software
        return {
            "format": FORMAT,
            "python": asdict(self.interpreter) if self.interpreter else None,
            "root": self.root.wish if self.root else None,
            **contents(software),
            "node": asdict(self.node) if self.node else None,
        }

    @property
    def digest(self) -> str:
        """Its name."""
        return digest_of(self.wish)

    @property
    def folder(self) -> Path:
        """Where it stands."""
        return environments_dir() / self.digest

    @property
    def prefixes(self) -> tuple[Path, ...]:
        """What must stand inside beside Python's."""
        found = [self.folder / "node"] if self.software.npm else []
        if self.node and not self.node.prefix.is_relative_to("/usr"):
            found.append(self.node.prefix)
        return tuple(found)

    @property
    def environment(self) -> Environment:
        """What a sandbox needs to know of it."""
        return Environment(self.digest, self.folder / "python", self.prefixes, self.root.tree if self.root else None)

    @property
    def base(self) -> Plan | None:
        """The environment with nothing but the base, whose files this one shares; None if it is that."""
        if self.software.base is None:
            return None
        base = replace(self, software=Software(base=self.software.base, agent=self.software.agent), node=None)
        return base if base.digest != self.digest else None

    def is_built(self) -> bool:
        """Whether all of it is there."""
        return (self.folder / "manifest.json").is_file() and (self.root is None or self.root.is_built())

    def require_version(self) -> None:
        """Raise UsageError if the Python of its root, which others may have built before, is none that is asked for."""
        from packaging.specifiers import SpecifierSet

        manifest = self.folder / "manifest.json"
        if self.root is None or not manifest.is_file():
            return
        version = json.loads(manifest.read_text(encoding="utf-8"))["python"]
        if not SpecifierSet(self.software.python).contains(version, prereleases=True):
            raise UsageError(
                f"{self.software.agent} needs Python {self.software.python}, and its root, Debian {self.root.release}, "
                f"has {version}: name a later release"
            )


def contents(software: Software) -> dict[str, Any]:
    """The packages that are asked for, by content: where the files lie is no matter."""
    base = base_sources(software.base) if software.base else []
    npm = [software.npm.with_name("package.json"), software.npm] if software.npm else []
    return {
        "base": [digest_of_file(path) for path in base],
        "requirements": digest_of_file(software.requirements) if software.requirements else None,
        "no_deps": list(software.no_deps),
        "npm": [digest_of_file(path) for path in npm],
    }


def plan(software: Software) -> Plan:
    """Choose the Python and the Node.js. Raises UsageError if this machine has none that suits."""
    if software.requirements:
        require_pinned(software.requirements)
    interpreter = find_interpreter(software.python)
    if interpreter is None and software.root is None:
        raise UsageError(
            f"{software.agent} needs Python {software.python or OLDEST}, and neither PATH nor uv has one that runs. "
            'Install one ("uv python install" does), or name a Debian release that has it as `root` in [software].'
        )
    root = None
    if interpreter is None and software.root is not None:
        packages = [*software.root_packages, *(["nodejs"] if software.npm else [])]
        root = roots.Root(software.root, tuple(sorted(packages)))
    node = find_node() if software.npm and root is None else None
    if software.npm and root is None and node is None:
        raise UsageError(f"{software.agent} needs Node.js, and there is no `node` on PATH: install it")
    return Plan(software, interpreter, root, node)


def find(software: Software) -> Environment:
    """The built environment. Raises UsageError if it isn't there."""
    planned = plan(software)
    planned.require_version()
    if not planned.is_built():
        raise UsageError(
            f"the environment {planned.digest} of the agent {software.agent} is not built: "
            f'"mlebench agents build {software.agent}{software.option}" does it'
        )
    return planned.environment


def build(software: Software, say: Say, force: bool = False) -> Environment:
    """Build it unless it is there."""
    planned = plan(software)
    planned.folder.parent.mkdir(parents=True, exist_ok=True)
    if planned.root is not None:
        roots.build(planned.root, say)
    _build(planned, say, force)
    return planned.environment


def _build(planned: Plan, say: Say, force: bool = False) -> None:
    folder = planned.folder
    with locked(folder.with_suffix(".lock"), say):
        planned.require_version()
        if planned.is_built() and not force:
            say(f"{folder} is there already")
            return
        base = planned.base
        if base is not None:
            _build(base, say)
        remove(folder)
        folder.mkdir()
        _fill(planned, base, Steps(folder / "build.log", say))
        say(f"built {folder}")


@contextmanager
def locked(path: Path, say: Say) -> Iterator[None]:
    """Hold a lock on a file, and say so if another process has it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("another process builds it; waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def remove(folder: Path) -> None:
    """Remove an environment; its manifest first, so that half of one never seems whole."""
    if folder.is_dir():
        folder.chmod(0o755)
        (folder / "manifest.json").unlink(missing_ok=True)
        open_folders(folder)
        remove_tree(folder)


# --- what is done


def _fill(planned: Plan, base: Plan | None, steps: Steps) -> None:
    software, folder = planned.software, planned.folder
    executable = planned.interpreter.executable if planned.interpreter else "/usr/bin/python3"
    python = VirtualEnvironment(folder / "python", steps, planned.root.tree if planned.root else None)
    python.make(executable, base.folder / "python" if base else None)
    if planned.root is not None:
        python.require_version(software.python or OLDEST)
    constraints = ["-c", str(base_files(software.base)[1])] if software.base else []
    if software.base and base is None:
        python.install(f'installing the base "{software.base}"', "-r", str(base_files(software.base)[0]), *constraints)
    if software.requirements:
        options = [*constraints, *(["--require-hashes"] if has_hashes(software.requirements) else [])]
        python.install(f"installing {software.requirements.name}", "-r", str(software.requirements), *options)
    if software.no_deps:
        python.install(f"installing {', '.join(software.no_deps)}", "--no-deps", *software.no_deps)
    python.compile()
    if software.npm:
        _install_npm(software.npm, folder / "node", steps)
    version, packages = python.listing()
    _protect(folder)
    write_json(
        folder / "manifest.json",
        {
            "digest": planned.digest,
            "wish": planned.wish,
            "python": version,
            "packages": packages,
            "root": str(planned.root.tree) if planned.root else None,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def _install_npm(lock: Path, folder: Path, steps: Steps) -> None:
    """The packages of a lock file; `bin` leads to their programs.

    Scripts of packages run only if the agent's package.json names the package itself.
    """
    folder.mkdir()
    for path in (lock.with_name("package.json"), lock):
        (folder / path.name).write_bytes(path.read_bytes())
    said = steps.run(
        f"installing {lock.name}", ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder
    )
    if "EBADENGINE" in said:
        steps.say(f"npm says that a package is made for another Node.js, see {steps.log}")
    if named := packages_with_scripts(lock):
        steps.run(f"setting up {', '.join(named)}", ["npm", "rebuild", *named], cwd=folder)
    (folder / "node_modules" / ".bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin").symlink_to(Path("node_modules", ".bin"))


def packages_with_scripts(lock: Path) -> list[str]:
    """Packages that the agent's package.json names, and that have something to do at installation."""
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    own = packages[""]
    named = sorted({*own.get("dependencies", {}), *own.get("optionalDependencies", {})})
    return [name for name in named if packages.get(f"node_modules/{name}", {}).get("hasInstallScript")]


def _protect(folder: Path) -> None:
    """An agent may be another user, and no agent may change what others use."""
    for path in folder.iterdir():
        if path.is_dir():
            subprocess.run(["chmod", "-R", "a+rX,a-w", "--", path], check=True)
    folder.chmod(0o755)
