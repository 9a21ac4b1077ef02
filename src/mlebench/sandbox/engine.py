"""Which engine for containers this machine has: Docker, Podman, or another that speaks Docker's protocol."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker import APIClient

SCHEME = "unix://"
SECONDS = 60  # that an engine may take to answer


@dataclass(frozen=True)
class Engine:
    """An engine that answers, and what it says of itself."""

    address: str
    protocol: str  # its version
    name: str  # "Docker" or "Podman"
    version: str
    rootless: bool
    remaps_users: bool  # root inside is another user outside
    runtime: str  # that it takes by default
    runtimes: Sequence[str]
    cgroup_version: str
    memory_limit: bool  # whether the kernel enforces it
    process_limit: bool


class NoEngineError(Exception):
    """There is none, or it does not answer; the message says what to do."""


def address(environment: Mapping[str, str] = os.environ) -> str:
    """Where the engine listens: DOCKER_HOST, or the first usual place where there is a socket."""
    if host := environment.get("DOCKER_HOST"):
        if not host.startswith(SCHEME):
            raise NoEngineError(
                f'DOCKER_HOST is "{host}", but the engine must run on this machine and be reached by its socket: '
                f"`export DOCKER_HOST={SCHEME}/var/run/docker.sock`, or unset it."
            )
        return host
    own = environment.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    places = ["/var/run/docker.sock", f"{own}/docker.sock", f"{own}/podman/podman.sock", "/run/podman/podman.sock"]
    for place in places:
        if os.access(place, os.R_OK | os.W_OK):
            return f"{SCHEME}{place}"
    if closed := [place for place in places if Path(place).exists()]:
        raise NoEngineError(
            f"the container engine's socket {closed[0]} is closed to you; an administrator can open it (for Docker: "
            "`usermod -aG docker $USER`, then log in anew), or use Podman without root: "
            "`systemctl --user start podman.socket`."
        )
    raise NoEngineError(
        "no container engine is running. Install Docker or Podman (`apt-get install podman`), start it "
        "(`systemctl start docker`, or `systemctl --user start podman.socket`, or where there is no systemd "
        "`podman system service --time=0 unix:///tmp/podman.sock &`), and if it listens elsewhere than usual, name "
        "its socket: `export DOCKER_HOST=unix:///tmp/podman.sock`."
    )


def find_engine() -> Engine:
    """The engine of this machine, which has answered just now. Raises NoEngineError."""
    where = address()
    try:
        from docker import APIClient
        from docker.errors import DockerException
    except ImportError as error:
        raise NoEngineError(
            f"the Python package {error.name} is missing; install it with `pip install 'mlebench[docker]'`."
        ) from error
    try:
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(where.removeprefix(SCHEME))
        engine = _described(where)
        with closing(APIClient(where, engine.protocol, SECONDS)) as client:
            client.ping()
    except (DockerException, OSError) as error:
        raise NoEngineError(
            f"no container engine answers at {where} ({error}); start it, or correct or unset DOCKER_HOST."
        ) from error
    return engine


def connect(engine: Engine) -> APIClient:
    """A client of the engine."""
    from docker import APIClient

    return APIClient(engine.address, engine.protocol, SECONDS)


def attach(engine: Engine, container: str) -> socket.socket:
    """Standard input of the container, open until this is closed, and its output and errors as frames."""
    channels = "&".join(f"{name}=1" for name in ("stdin", "stdout", "stderr", "stream"))
    request = f"POST /v{engine.protocol}/containers/{container}/attach?{channels} HTTP/1.1\r\n"
    request += "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(SECONDS)
        connection.connect(engine.address.removeprefix(SCHEME))
        connection.sendall(request.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):  # byte by byte: what follows is the container's
            if not (byte := connection.recv(1)):
                break
            head += byte
        if head.split(maxsplit=2)[1:2] not in ([b"101"], [b"200"]):
            raise OSError(f"the container can't be entered: {connection.recv(4096).decode(errors='replace').strip()}")
        connection.settimeout(None)  # it may be silent for long
    except BaseException:
        connection.close()
        raise
    return connection


@cache
def _described(where: str) -> Engine:
    """Once for a process: Podman takes a second to answer."""
    from docker import APIClient

    with closing(APIClient(where, "1.41", SECONDS)) as client:
        version = client.version(api_version=False)
    with closing(APIClient(where, version["ApiVersion"], SECONDS)) as client:
        return engine_from(where, client.info(), version)


def engine_from(where: str, info: Mapping[str, Any], version: Mapping[str, Any]) -> Engine:
    """An engine from its answers to /info and /version.

    >>> engine_from("unix:///x", {"ServerVersion": "27.1"}, {"Components": [{"Name": "Engine"}]}).name
    'Docker'
    """
    names = [str(component.get("Name", "")) for component in version.get("Components") or []]
    security = " ".join(info.get("SecurityOptions") or [])
    podman = any("Podman" in name for name in names)
    return Engine(
        address=where,
        protocol=str(version.get("ApiVersion", "")),
        name="Podman" if podman else "Docker",
        version=str(info.get("ServerVersion", "?")),
        rootless=bool(info.get("Rootless")) or "name=rootless" in security,
        remaps_users="name=userns" in security,
        runtime=str(info.get("DefaultRuntime", "")),
        runtimes=tuple(_installed(info.get("Runtimes") or {}, podman)),
        cgroup_version=str(info.get("CgroupVersion", "1")),
        memory_limit=bool(info.get("MemoryLimit")),
        process_limit=bool(info.get("PidsLimit")),
    )


def _installed(runtimes: Mapping[str, Mapping[str, Any]], podman: bool) -> list[str]:
    """The runtimes that are there: Podman names all that it has heard of."""
    if not podman:
        return sorted(runtimes)
    return sorted(name for name, runtime in runtimes.items() if Path(str(runtime.get("path", ""))).exists())


def unavailable(engine: Engine, runtime: str | None) -> str | None:
    """Why an engine can't hold attempts and what to do about it; None if it can."""
    if sys.platform != "linux":
        return "containers need Linux: elsewhere they run in a virtual machine that can't see this one's sockets."
    if engine.rootless and engine.name == "Docker":
        return (
            "Docker without root makes the agent's files another user's. Use Docker with root, or Podman without: "
            "`systemctl --user start podman.socket; export DOCKER_HOST=unix://$XDG_RUNTIME_DIR/podman/podman.sock`."
        )
    if runtime is None or runtime == engine.runtime:
        return None
    if engine.name == "Podman":
        return (
            f'Podman takes its runtime from its configuration, where it is "{engine.runtime}"; for {runtime}, put '
            f'`runtime = "{runtime}"` below [engine] into containers.conf and start its service anew.'
        )
    if runtime not in engine.runtimes:
        there = ", ".join(engine.runtimes)
        return f'{engine.name} has no runtime "{runtime}"; it has {there}. Its documentation tells how to add one.'
    return None
