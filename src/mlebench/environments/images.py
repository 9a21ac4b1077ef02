"""Environments as images, for engines of containers: a Dockerfile of our own on a base image of the user's choice."""

from __future__ import annotations

import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.environments import Environment, digest_of, environments_dir
from mlebench.environments.folders import contents, locked, packages_with_scripts, remove
from mlebench.environments.locks import base_sources, has_hashes, require_pinned
from mlebench.environments.software import Software
from mlebench.environments.steps import BuildError, Say
from mlebench.environments.venv import GOOD_PIP
from mlebench.errors import UsageError
from mlebench.files import write_json

if TYPE_CHECKING:
    from docker import APIClient

BASE_IMAGE = "docker.io/library/debian:trixie-slim"
CERTIFICATES = "/opt/mlebench/certificates.crt"
_FORMAT = 1  # of the image; a change makes all digests new
_TEMPLATE = Path(__file__).with_name("Dockerfile.j2")
_PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "npm_config_registry")
_PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
_CERTIFICATE_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


@dataclass(frozen=True)
class Plan:
    """What is to be in an image, and its name."""

    software: Software

    @property
    def wish(self) -> dict[str, Any]:
        """Everything that decides what it will be but for the base image, which the manifest names."""
        return {
            "format": _FORMAT,
            "image": True,
            "machine": platform.machine(),
            "python": self.software.python,
            "packages": list(self.software.root_packages),
            **contents(self.software),
        }

    @property
    def digest(self) -> str:
        """Its name."""
        return digest_of(self.wish)

    @property
    def tag(self) -> str:
        """The engine's name for it."""
        return f"mlebench/{self.digest}"

    @property
    def folder(self) -> Path:
        """Where its manifest stands."""
        return environments_dir() / self.digest

    def manifest(self) -> dict[str, Any] | None:
        """What was built; None if nothing was."""
        try:
            return json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def environment(self, manifest: Mapping[str, Any]) -> Environment:
        """What a sandbox needs to know of it; another image of the same wish has another digest."""
        digest = digest_of({"wish": self.wish, "image": manifest["image"]})
        return Environment(digest, None, image=self.tag)  # its own PATH leads to what is in it


def plan(software: Software) -> Plan:
    """Raises UsageError if the packages aren't pinned."""
    if software.requirements:
        require_pinned(software.requirements)
    return Plan(software)


def find(software: Software) -> Environment | None:
    """The image that was built on this machine; None if none was."""
    planned = plan(software)
    manifest = planned.manifest()
    return planned.environment(manifest) if manifest else None


def build(software: Software, say: Say, force: bool, base_image: str | None) -> Environment:
    """Build it unless it is there on the same base image."""
    planned = plan(software)
    planned.folder.parent.mkdir(parents=True, exist_ok=True)
    with closing(_engine()) as client, locked(planned.folder.with_suffix(".lock"), say):
        manifest = planned.manifest()
        base = base_image or (manifest["base_image"] if manifest else BASE_IMAGE)
        there = manifest and manifest["base_image"] == base and manifest["image"] == _image_id(client, planned.tag)
        if manifest and there and not force:
            say(f"the image {planned.tag} is there already")
            return planned.environment(manifest)
        remove(planned.folder)
        planned.folder.mkdir()
        manifest = _build(planned, client, base, say, force)
        write_json(planned.folder / "manifest.json", manifest)
    return planned.environment(manifest)


def _engine() -> APIClient:
    from mlebench.sandbox.engine import NoEngineError, connect, find_engine

    try:
        return connect(find_engine())
    except NoEngineError as error:
        raise UsageError(str(error)) from error


def _image_id(client: APIClient, name: str) -> str | None:
    from docker.errors import ImageNotFound

    try:
        return client.inspect_image(name)["Id"]
    except ImageNotFound:
        return None


def _build(planned: Plan, client: APIClient, base_image: str, say: Say, force: bool) -> dict[str, Any]:
    from docker.errors import DockerException

    arguments = build_arguments()
    dockerfile = render(planned.software, base_image, arguments)
    log = planned.folder / "build.log"
    say(f"building {planned.tag} on {base_image}")
    try:
        news = client.build(
            fileobj=make_context(planned.software, dockerfile),
            custom_context=True,
            tag=planned.tag,
            buildargs=arguments,
            network_mode="host",
            nocache=force,
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(news, log, say)
        inspected = client.inspect_image(planned.tag)
        base = client.inspect_image(base_image)
    except (DockerException, OSError) as error:
        raise BuildError(f"building {planned.tag} on {base_image} failed: {error}") from error
    say(f"built {planned.tag} ({inspected['Size'] / 1e9:.1f} GB)")
    return {
        "digest": planned.digest,
        "wish": planned.wish,
        "tag": planned.tag,
        "image": inspected["Id"],
        "base_image": base_image,
        "base_image_id": base["Id"],
        "base_image_digests": base.get("RepoDigests") or [],
        "size": inspected["Size"],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _follow(news: Any, log: Path, say: Say) -> None:
    """Write down what the engine prints, say each step, and raise BuildError if one fails."""
    with log.open("w", encoding="utf-8") as file:
        for event in news:
            text = event.get("stream") or event.get("status") or event.get("error") or ""
            file.write(text if text.endswith("\n") else f"{text}\n")
            if re.match(r"step \S+ ?: (FROM|RUN) ", text, re.IGNORECASE):
                say(" ".join(text.split())[:150])
            if "error" in event:
                file.flush()
                tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-15:])
                raise BuildError(f"the image could not be built (all of it: {log})\n{tail}")


def render(software: Software, base_image: str, arguments: Mapping[str, str]) -> str:
    """The Dockerfile."""
    from jinja2 import Environment as Jinja
    from jinja2 import StrictUndefined

    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return jinja.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        base_image=base_image,
        pip=GOOD_PIP,
        arguments=sorted(arguments),
        python=software.python,
        base=software.base,
        base_names=[path.name for path in base_sources(software.base)] if software.base else [],
        packages=[shlex.quote(name) for name in software.root_packages],
        requirements=software.requirements is not None,
        hashes=software.requirements is not None and has_hashes(software.requirements),
        no_deps=[shlex.quote(name) for name in software.no_deps],
        npm=software.npm is not None,
        scripts=[shlex.quote(name) for name in packages_with_scripts(software.npm)] if software.npm else [],
    )


def make_context(software: Software, dockerfile: str) -> io.BytesIO:
    """The files that the Dockerfile copies, as a tar archive; without times, so that layers can be used again."""
    files = {"Dockerfile": dockerfile.encode(), "certificates.crt": _certificates()}
    if software.base:
        files |= {path.name: path.read_bytes() for path in base_sources(software.base)}
    if software.requirements:
        files["requirements.lock"] = software.requirements.read_bytes()
    if software.npm:
        files |= {path.name: path.read_bytes() for path in (software.npm.with_name("package.json"), software.npm)}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    archive.seek(0)
    return archive


# --- what of the host's settings the build needs to reach packages


def build_arguments() -> dict[str, str]:
    """Proxies, the package indexes of pip and npm, and certificates, as variables of the build alone.

    The engine keeps them in the image's history: an index that needs a password shows it there.
    """
    found = {name: value for name, value in os.environ.items() if name.lower() in _PASSED_ON}
    for name, value in _pip_settings().items():
        found[f"PIP_{name.upper().replace('-', '_')}"] = value
    if _certificates():
        found |= dict.fromkeys(_CERTIFICATE_VARIABLES, CERTIFICATES)
    return found


def _pip_settings() -> dict[str, str]:
    """Pip's options, from its files and the environment, as far as they make sense inside: no folders of the host."""
    found = {}
    pip = [sys.executable, "-m", "pip"] if _has_pip() else [shutil.which("pip") or "pip"]
    try:
        said = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        said = ""
    for line in said.splitlines():
        key, _, value = line.partition("=")
        name = key.strip().rpartition(".")[2]
        words = [word for word in value.strip().strip("'\"").split() if not word.startswith(("file:", "/"))]
        if name in _PIP_OPTIONS and words:
            found[name] = " ".join(words)
    return found


def _has_pip() -> bool:
    from importlib.util import find_spec

    return find_spec("pip") is not None


def _certificates() -> bytes:
    """The host's own bundle of certificates, if one is named in the environment: a proxy may need it."""
    for name in _CERTIFICATE_VARIABLES:
        path = os.environ.get(name)
        if path and Path(path).is_file():
            return Path(path).read_bytes()
    return b""
