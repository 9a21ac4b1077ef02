"""Images that agents written for v1 bring a Dockerfile for. It begins with `FROM mlebench-env`.

Where the container engine has no such image, or has one of ours, that image is made here: the packages of a base, the
tools that start scripts like to call, and the folders and names of v1's. An image of that name that isn't ours is
taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlebench.environments import Environment, digest_of, environments_dir, images, uses_images
from mlebench.environments.folders import locked, remove
from mlebench.environments.software import Software
from mlebench.environments.steps import BuildError, Say
from mlebench.errors import UsageError
from mlebench.files import write_json

if TYPE_CHECKING:
    from docker import APIClient

BASE_IMAGE = "mlebench-env"
BASE_LABEL = "org.mlebench.v1-base"  # on ours: what it was made of
TOOLS = ("curl", "gettext-base", "git", "unzip", "wget")
AGENT_DIR = "/opt/agent"  # not /home/agent, where the sandbox shows the agent's folder
ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "SUBMISSION_DIR": "/home/submission",
        "LOGS_DIR": "/home/logs",
        "CODE_DIR": "/home/code",
        "AGENT_DIR": AGENT_DIR,
    }
)
_BASE = Path(__file__).with_name("v1_base")
_FORMAT = 1  # of both images; a change makes all digests new
_OWN_NAME = "Dockerfile.mlebench"  # so that the agent's own stays as it is
_SKIPPED = frozenset({"__pycache__", ".git", ".venv"})


@dataclass(frozen=True)
class DockerfileSoftware(Software):
    """An image of an agent's own Dockerfile, whose folder is the context of the build."""

    dockerfile: Path | None = None

    @property
    def wish(self) -> dict[str, Any]:
        """Everything that decides what it will be but for the image that it begins with, which the manifest names."""
        return {
            "format": _FORMAT,
            "machine": platform.machine(),
            "base": self.base or "standard",
            "dockerfile": self._path.name,
            "files": _files(self._path.parent),
            "arguments": dict(ARGUMENTS),
        }

    @property
    def _path(self) -> Path:
        assert self.dockerfile is not None
        return self.dockerfile

    def find(self, sandbox: str) -> Environment:
        """The image that was built. Raises UsageError if there is none, or the sandbox takes none."""
        _require_containers(sandbox)
        wish = self.wish
        try:
            manifest = json.loads((_folder(wish) / "manifest.json").read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            option = f" --environment {self.base}" if self.base else ""
            raise UsageError(
                "the image of the agent is not built yet, or its files have changed since: "
                f'"mlebench agents build {self.agent} --sandbox docker{option}" builds it'
            ) from error
        return _environment(wish, manifest)

    def build(self, sandbox: str, say: Say, force: bool = False, base_image: str | None = None) -> Environment:
        """Build it unless it is there; `base_image` is what our image of the name `mlebench-env` begins with.

        Raises BuildError with what the failing step printed, UsageError if there is no container engine.
        """
        _require_containers(sandbox)
        wish = self.wish
        client = images._engine()
        folder = _folder(wish)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / f"{BASE_IMAGE}.lock", say):  # one at a time: the image's name is shared
            base = ensure_base(client, self.base or "standard", say, force, base_image)
            manifest = _read(folder)
            there = images._image_id(client, _tag(wish))
            if manifest and not force and (manifest["image"], manifest["base_image_id"]) == (there, base):
                say(f"the image {_tag(wish)} is there already")
                return _environment(wish, manifest)
            remove(folder)
            folder.mkdir()
            say(f"building {_tag(wish)} by {self._path}")
            _build(client, self._path, folder, _tag(wish), ARGUMENTS, say, force)
            manifest = {
                "digest": folder.name,
                "wish": wish,
                "tag": _tag(wish),
                "image": images._image_id(client, _tag(wish)),
                "base_image": BASE_IMAGE,
                "base_image_id": base,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            write_json(folder / "manifest.json", manifest)
        return _environment(wish, manifest)


def ensure_base(client: APIClient, base: str, say: Say, force: bool = False, base_image: str | None = None) -> str:
    """See that there is an image `mlebench-env`; its id. One that isn't ours is left alone."""
    found = _labels(client, BASE_IMAGE)
    if found is not None and BASE_LABEL not in found:
        say(f"the image {BASE_IMAGE} is there, and not made here: it is taken as it is")
    else:
        environment = images.build(Software(base=base, root_packages=TOOLS, agent=BASE_IMAGE), say, False, base_image)
        wanted = digest_of({"format": _FORMAT, "files": _files(_BASE), "on": environment.digest})
        if force or (found or {}).get(BASE_LABEL) != wanted:
            say(f"building {BASE_IMAGE}")
            folder = environments_dir() / BASE_IMAGE
            folder.mkdir(parents=True, exist_ok=True)
            arguments = {"BASE": environment.image or ""}
            _build(client, _BASE / "Dockerfile", folder, BASE_IMAGE, arguments, say, force, {BASE_LABEL: wanted})
    return images._image_id(client, BASE_IMAGE) or ""


def with_arguments(dockerfile: str, names: Sequence[str]) -> str:
    """The Dockerfile, in which each stage takes these arguments of the build.

    >>> print(with_arguments("FROM a AS b\\nRUN x", ["PIP_INDEX_URL"]))
    FROM a AS b
    ARG PIP_INDEX_URL
    RUN x
    """
    lines = "".join(f"\nARG {name}" for name in names)
    return re.sub(r"^[ \t]*FROM[ \t].*$", lambda found: found[0] + lines, dockerfile, flags=re.MULTILINE | re.I)


def _build(
    client: APIClient,
    dockerfile: Path,
    folder: Path,
    tag: str,
    arguments: Mapping[str, str],
    say: Say,
    force: bool,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Build one image; what is printed goes to `folder`/build.log."""
    from docker.errors import DockerException

    settings = _settings_of_the_host(client, tag)
    try:
        with _context(dockerfile, sorted(settings)) as context:
            news = client.build(
                fileobj=context,
                custom_context=True,
                dockerfile=_OWN_NAME,
                tag=tag,
                buildargs={**settings, **arguments},
                network_mode="host",
                nocache=force,
                rm=True,
                forcerm=True,
                decode=True,
                labels=dict(labels or {}),
            )
            images._follow(news, folder / "build.log", say)
    except (DockerException, OSError) as error:
        raise BuildError(f"building {tag} by {dockerfile} failed: {error}") from error


def _context(dockerfile: Path, arguments: Sequence[str]) -> Any:
    """The Dockerfile's folder without what its .dockerignore names, and the Dockerfile with further arguments.

    As a file with a tar archive, to be closed.
    """
    from docker.utils.build import tar

    ignored = dockerfile.with_name(".dockerignore")
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    excluded = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    text = with_arguments(dockerfile.read_text(encoding="utf-8"), arguments)
    return tar(dockerfile.parent, exclude=excluded, dockerfile=(_OWN_NAME, text))


def _settings_of_the_host(client: APIClient, tag: str) -> dict[str, str]:
    """Proxies, indexes and certificates for what is built on an image of ours, where the certificates lie."""
    found = images.build_arguments()
    if tag != BASE_IMAGE and BASE_LABEL not in (_labels(client, BASE_IMAGE) or {}):
        found = {name: value for name, value in found.items() if value != images.CERTIFICATES}
    return found


def _labels(client: APIClient, image: str) -> dict[str, str] | None:
    """The labels of an image; None if there is no such image."""
    from docker.errors import ImageNotFound

    try:
        return client.inspect_image(image)["Config"].get("Labels") or {}
    except ImageNotFound:
        return None


def _files(folder: Path) -> dict[str, str]:
    """The files below a folder with the SHA-256 of their content."""
    paths = [path for path in folder.rglob("*") if not _SKIPPED.intersection(path.relative_to(folder).parts)]
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if path.is_file()
    }


def _require_containers(sandbox: str) -> None:
    if not uses_images(sandbox):
        raise UsageError(
            f"an agent written for v1 brings an image of its own, which the sandbox {sandbox} can't run: "
            "--sandbox docker can"
        )


def _folder(wish: Mapping[str, Any]) -> Path:
    return environments_dir() / digest_of(wish)


def _tag(wish: Mapping[str, Any]) -> str:
    return f"mlebench/v1-{digest_of(wish)}"


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _environment(wish: Mapping[str, Any], manifest: Mapping[str, Any]) -> Environment:
    """What a sandbox needs to know of it; another image of the same wish has another digest."""
    return Environment(digest_of({"wish": wish, "image": manifest["image"]}), None, image=manifest["tag"])
