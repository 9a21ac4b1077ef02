"""Virtual environments of Python, made and filled with uv if it is there, else with Python's own means.

One that extends another shares its files by hard links, so the base of many agents lies on disk once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mlebench.environments import roots
from mlebench.environments.pythons import find_uv
from mlebench.environments.steps import BuildError, Steps

GOOD_PIP = "pip>=26"  # older ones fail on markers about the kernel's version, which many lock files hold
_LIST_PACKAGES = """
import json, platform
from importlib.metadata import distributions
print(json.dumps([platform.python_version(), sorted({f"{d.metadata['Name']}=={d.version}" for d in distributions()})]))
"""


class VirtualEnvironment:
    """One that is being built at `prefix`; `root` is the system tree that its Python belongs to, if not the host."""

    def __init__(self, prefix: Path, steps: Steps, root: Path | None) -> None:
        self._prefix, self._steps, self._root = prefix, steps, root
        self._python = str(prefix / "bin" / "python")
        self._uv = find_uv()

    def make(self, executable: str, base: Path | None) -> None:
        """Without packages, or with those of `base`, another of the same Python."""
        if self._uv:
            command = [self._uv, "venv", "--no-project", "--no-python-downloads", "--python", executable]
        else:
            command = [executable, "-I", "-m", "venv", "--without-pip"]
        self._run("making a virtual environment", [*command, str(self._prefix)])
        if base is not None:
            share(base, self._prefix)
        if not self._uv and not list(self._prefix.glob("lib/python*/site-packages/pip")):
            self._install_pip()

    def _install_pip(self) -> None:
        self._run("", [self._python, "-I", "-m", "ensurepip"])
        with suppress(BuildError):  # the index may not have it, or may not be needed
            self._run("", [self._python, "-I", "-m", "pip", "install", "--no-compile", GOOD_PIP])

    def require_version(self, versions: str) -> None:
        """Raise BuildError if its Python, that of a root, does not suit: it is known only now that it runs."""
        from packaging.specifiers import SpecifierSet

        version, _ = self.listing()
        if not SpecifierSet(versions).contains(version, prereleases=True):
            raise BuildError(f"the agent needs Python {versions}, and the root has {version}: name a later release")

    def install(self, what: str, *options: str) -> None:
        """Install packages."""
        if self._uv:
            command = [self._uv, "pip", "install", "--python", self._python]
        else:
            command = [self._python, "-I", "-m", "pip", "install", "--no-compile", "--no-input"]
        self._run(what, [*command, *options], {"UV_LINK_MODE": "copy"} if self._root else {})

    def compile(self) -> None:
        """Byte code of all modules, for no sandbox can write it later; templates among them may not compile."""
        command = [self._python, "-I", "-m", "compileall", "-q", "-q", "-j", "0", str(self._prefix / "lib")]
        with suppress(BuildError):
            self._run("compiling", command)

    def listing(self) -> tuple[str, list[str]]:
        """The version of Python, and the packages with theirs."""
        said = self._run("", [self._python, "-I", "-c", _LIST_PACKAGES])
        version, packages = json.loads(said.splitlines()[-1])
        return version, packages

    def _run(self, what: str, command: Sequence[str], environment: dict[str, str] | None = None) -> str:
        if self._root is not None:
            command = roots.inside(self._root, command)
        return self._steps.run(what, command, Path("/"), environment)


def share(base: Path, prefix: Path) -> None:
    """Give the new environment at `prefix` all files of `base` that it doesn't have, as hard links where it can."""
    for folder, folders, names in os.walk(base):
        inside = Path(folder).relative_to(base)
        (prefix / inside).mkdir(exist_ok=True)
        for name in [*names, *(name for name in folders if Path(folder, name).is_symlink())]:
            source, target = Path(folder, name), prefix / inside / name
            if not os.path.lexists(target):
                _share_file(source, target, base, prefix)


def _share_file(source: Path, target: Path, base: Path, prefix: Path) -> None:
    """Programs name the environment they belong to in their first lines, so they are written anew."""
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.parent == base / "bin" and source.read_bytes().startswith(b"#!"):
        target.write_bytes(source.read_bytes().replace(os.fsencode(base), os.fsencode(prefix)))
        target.chmod(0o755)
    else:
        try:
            os.link(source, target)
        except OSError:  # another file system, or one that knows no links
            shutil.copy2(source, target)


def open_folders(tree: Path) -> None:
    """Let files be added and removed; the files themselves may be links to those of others and stay as they are."""
    subprocess.run(["find", tree, "-type", "d", "-exec", "chmod", "u+wx", "{}", "+"], check=True)
