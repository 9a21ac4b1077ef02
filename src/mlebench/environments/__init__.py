"""Environments: the Python packages, Node.js programs, system tree or image that an agent runs in.

Each is kept under the hash of everything that decides it, so agents that ask for the same share one:

    <environments>/<digest>/{python,node}/      for sandboxes that show folders of the host
    <environments>/<digest>/manifest.json       what is in it; written last, so that it says: this is whole
    <environments>/roots/<digest>/{tree,manifest.json}

`<environments>` is MLEBENCH_ENVIRONMENTS_DIR or below the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlebench.environments.software import BASES, Software, with_base
from mlebench.errors import UsageError

__all__ = ["BASES", "Environment", "Software", "build", "environments_dir", "find", "with_base"]


@dataclass(frozen=True)
class Environment:
    """A built environment, in the terms of `mlebench.sandbox.World`.

    `python` and `software` are folders of the host that stand at the same paths inside; an `image` has all in itself.
    """

    digest: str
    python: Path | None
    software: tuple[Path, ...] = ()
    root: Path | None = None
    image: str | None = None


def find(software: Software | None, sandbox: str) -> Environment:
    """The environment for `software`; without any, the Python that runs this.

    For sandbox "docker" an image if one is built, else folders, which that sandbox can show as well. Raises UsageError
    if nothing is built, or can't be on this machine.
    """
    if software is None:
        return _this_python()
    from mlebench.environments import dockerfiles, folders, images

    if isinstance(software, dockerfiles.DockerfileSoftware):
        return software.find(sandbox)
    image = images.find(software) if uses_images(sandbox) else None
    return image or folders.find(software)


def build(
    software: Software | None,
    sandbox: str,
    *,
    say: Callable[[str], None] = print,
    force: bool = False,
    base_image: str | None = None,
) -> Environment:
    """Make the environment for `software` unless it is there; with `force`, make it anew.

    For sandbox "docker" that is an image, for all others folders.
    `say` gets a line at the beginning of each step. `base_image` is for sandbox "docker": the image to begin with.
    Raises BuildError with what the failing step printed, UsageError if this machine lacks what is needed.
    """
    if base_image is not None and not uses_images(sandbox):
        raise UsageError("--base-image is for --sandbox docker: other sandboxes use no image")
    if software is None:
        return _this_python()
    from mlebench.environments import dockerfiles, folders, images

    if isinstance(software, dockerfiles.DockerfileSoftware):
        return software.build(sandbox, say, force, base_image)
    if uses_images(sandbox):
        return images.build(software, say, force, base_image)
    return folders.build(software, say, force)


def uses_images(sandbox: str) -> bool:
    """Whether its environments are images: "docker", also with a runtime, as "docker:runsc"."""
    return sandbox.partition(":")[0] == "docker"


def environments_dir() -> Path:
    """MLEBENCH_ENVIRONMENTS_DIR, else a folder in the user's cache."""
    if given := os.environ.get("MLEBENCH_ENVIRONMENTS_DIR"):
        return Path(given).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("mle-bench", appauthor=False) / "environments"


def digest_of(content: Mapping[str, Any]) -> str:
    """A short hash of JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _this_python() -> Environment:
    """The environment that mlebench itself runs in."""
    from importlib.metadata import distributions

    packages = sorted({f"{each.metadata['Name']}=={each.version}" for each in distributions()})
    content = {"python": platform.python_version(), "platform": platform.machine(), "packages": packages}
    return Environment(digest_of(content), Path(sys.prefix))
