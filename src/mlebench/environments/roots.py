"""Roots: the tree of a whole Debian system, for agents whose Python the host doesn't have.

Made by the first of mmdebstrap, debootstrap (as root), podman and docker that is there. All files belong to who made
it, so it can be removed without special rights; sandboxes show it read-only.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.environments import digest_of, environments_dir
from mlebench.environments.steps import BuildError, Say, Steps
from mlebench.errors import UsageError
from mlebench.files import remove_tree, write_json

ALWAYS = ("ca-certificates", "libexpat1", "libgomp1", "procps", "python3", "python3-venv")  # libgomp for LightGBM
_OF_THE_ROOT = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc"}
_OF_THE_HOST = {"resolv.conf", "hosts", "ssl", "pip.conf", "uv", "passwd", "group", "nsswitch.conf"}  # in /etc


@dataclass(frozen=True)
class Root:
    """A Debian release with some packages."""

    release: str
    packages: tuple[str, ...] = ()

    @property
    def wish(self) -> dict[str, Any]:
        """Everything that decides what it will be, but for the state of Debian's archive."""
        packages = sorted({*ALWAYS, *self.packages})
        return {"format": 1, "release": self.release, "packages": packages, "machine": platform.machine()}

    @property
    def folder(self) -> Path:
        """Where it stands."""
        return environments_dir() / "roots" / digest_of(self.wish)

    @property
    def tree(self) -> Path:
        """Its `/`."""
        return self.folder / "tree"

    def is_built(self) -> bool:
        """Whether all of it is there."""
        return (self.folder / "manifest.json").is_file()


def build(root: Root, say: Say) -> None:
    """Make the tree unless it is there. Raises UsageError if no program is there that could."""
    from mlebench.environments.folders import locked, remove

    root.folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(root.folder.with_suffix(".lock"), say):
        if root.is_built():
            return
        require_bwrap()
        make = _maker()
        remove(root.folder)
        root.tree.mkdir(parents=True)
        steps = Steps(root.folder / "build.log", say)
        make(root, steps)
        remove_tree(root.tree / "var" / "cache" / "apt")
        # Nothing in it is secret, and nobody is to become somebody else by it.
        subprocess.run(["chmod", "-R", "a+rX,u+w,go-w,ug-s", "--", root.tree], check=True)
        write_json(
            root.folder / "manifest.json",
            {"wish": root.wish, "packages": _versions(root.tree), "created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"},
        )
        say(f"built {root.tree}")


def require_bwrap() -> None:
    """Raise UsageError if a root can't be entered."""
    if shutil.which("bwrap") is None:
        raise UsageError('a root of its own needs the program bwrap: "apt-get install bubblewrap", for example')


def inside(tree: Path, command: Sequence[str]) -> list[str]:
    """`command` on the system in `tree`, with all other folders of the host, and its network."""
    options = []
    for path in sorted(Path("/").iterdir()):
        if path.is_dir() and not path.is_symlink() and path.name not in _OF_THE_ROOT | {"dev", "lost+found"}:
            options += ["--bind", str(path), str(path)]
    for name in sorted(_OF_THE_ROOT - {"etc"}):
        path = tree / name
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), f"/{name}"]
        elif path.is_dir():
            options += ["--ro-bind", str(path), f"/{name}"]
    for folder, names in ((tree / "etc", None), (Path("/etc"), _OF_THE_HOST)):
        for path in sorted(folder.iterdir()):
            if path.exists() and (path.name in _OF_THE_HOST) == (names is not None):
                options += ["--ro-bind", os.path.realpath(path) if names else str(path), f"/etc/{path.name}"]
    return ["bwrap", *options, "--dev-bind", "/dev", "/dev", "--die-with-parent", "--chdir", "/", "--", *command]


# --- ways to make one


def _maker() -> Callable[[Root, Steps], None]:
    if shutil.which("mmdebstrap"):
        return _with_mmdebstrap
    if shutil.which("debootstrap") and os.geteuid() == 0:
        return _with_debootstrap
    for engine in ("podman", "docker"):
        if shutil.which(engine):
            return lambda root, steps: _with_engine(engine, root, steps)
    raise UsageError(
        "a root of its own is made by mmdebstrap, debootstrap (as root), podman or docker, and none is there: "
        '"apt-get install mmdebstrap", for example'
    )


def _with_mmdebstrap(root: Root, steps: Steps) -> None:
    with tempfile.TemporaryDirectory(dir=root.folder) as folder:
        archive = Path(folder) / "root.tar"
        mode = "root" if os.geteuid() == 0 else "unshare"
        include = ",".join(root.wish["packages"])
        command = ["mmdebstrap", f"--mode={mode}", "--variant=minbase", f"--include={include}"]
        Path(folder).chmod(0o755)
        steps.run(
            f"making a root with Debian {root.release} ({include})",
            ["sh", "-c", 'exec "$@" > "$0"', str(archive), *command, root.release, "-"],
        )
        _extract(archive, root.tree, steps)


def _with_debootstrap(root: Root, steps: Steps) -> None:
    include = ",".join(root.wish["packages"])
    command = ["debootstrap", "--variant=minbase", f"--include={include}", root.release, str(root.tree)]
    steps.run(f"making a root with Debian {root.release} ({include})", command)
    remove_tree(root.tree / "dev")
    (root.tree / "dev").mkdir()


def _with_engine(engine: str, root: Root, steps: Steps) -> None:
    name = f"mlebench-root-{os.getpid()}"
    packages = " ".join(root.wish["packages"])
    script = f"apt-get update && apt-get install -y --no-install-recommends {packages}"
    image = f"docker.io/library/debian:{root.release}-slim"
    try:
        steps.run(
            f"making a root from {image} ({packages})",
            [
                engine,
                "run",
                "--network=host",
                f"--name={name}",
                "--env=DEBIAN_FRONTEND=noninteractive",
                image,
                "sh",
                "-c",
                script,
            ],
        )
        with tempfile.TemporaryDirectory(dir=root.folder) as folder:
            archive = Path(folder) / "root.tar"
            steps.run("exporting it", [engine, "export", "--output", str(archive), name])
            _extract(archive, root.tree, steps)
    finally:
        subprocess.run([engine, "rm", "--force", name], capture_output=True, check=False)


def _extract(archive: Path, tree: Path, steps: Steps) -> None:
    command = [
        "tar",
        "--extract",
        f"--file={archive}",
        f"--directory={tree}",
        "--no-same-owner",
        "--no-same-permissions",
    ]
    steps.run("unpacking", [*command, "--exclude=./dev/*", "--exclude=dev/*"])


def _versions(tree: Path) -> list[str]:
    """The Debian packages in it, from dpkg's own record."""
    found, name = [], ""
    try:
        lines = (tree / "var" / "lib" / "dpkg" / "status").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BuildError(f"{tree} is no Debian system: {error}") from error
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "Package":
            name = value
        elif key == "Version":
            found.append(f"{name}={value}")
    return sorted(found)
