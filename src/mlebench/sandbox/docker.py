"""Sandbox from a container of Docker, Podman, or another engine that speaks Docker's protocol.

The system that an agent sees is an image (`World.image`), the tree of `World.root`, or this machine's own `/usr`. What
it is given, and what it leaves, are folders of this machine, so the engine must run here. The runner holds the
container by its standard input: when the runner ends, however it does, the container ends. `docs/sandbox.md` says what
holds and which test shows it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, World, system
from mlebench.sandbox.container import LABEL, has_own_kernel, own_identity, remove_abandoned, running
from mlebench.sandbox.engine import Engine, NoEngineError, connect, find_engine, unavailable
from mlebench.sandbox.folders import scratch_folder
from mlebench.sandbox.inside import environment
from mlebench.sandbox.launcher import AGENT
from mlebench.sandbox.places import (
    Place,
    first_command,
    make_home,
    outer_first,
    places_of,
    relay_command,
    require_present,
    system_places,
)
from mlebench.sandbox.watch import Watched, watch

if TYPE_CHECKING:
    from docker import APIClient

ETC = ("passwd", "group")  # that name the agent
SYSTEM_IMAGE = "localhost/mlebench-system"  # all but empty: the system is mounted
FIRST_USER, USERS = 0x78000000, 0x07000000  # above those that bubblewrap's launcher takes
OVERHEAD_MEMORY = 48 << 20  # our two processes
OVERHEAD_TASKS = 3
SELINUX = Path("/sys/fs/selinux/enforce")  # where it is, a container may not read the folders it is given
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")  # engines like to pass on their own

_NOT_SEEN = "what runs in a kernel of its own can't be watched from outside"
OWN_KERNEL = {  # checks of mlebench.sandbox.checks that can't hold in gVisor and the like, and why
    "there_are_no_privileges": "the kernel inside is another, which tells less",
    **dict.fromkeys(("memory_is_limited", "a_child_that_takes_too_much_memory_dies_first"), _NOT_SEEN),
    **dict.fromkeys(("the_observer_sees_and_stops", "time_running_short_is_told"), _NOT_SEEN),
    "a_killed_runner_leaves_nothing_running": _NOT_SEEN,
}


class Docker:
    """Runs a program in a container; `runtime` is one of the engine's. See `mlebench.sandbox.Sandbox`."""

    def __init__(self, runtime: str | None = None) -> None:
        self.runtime = runtime
        self.name = f"docker:{runtime}" if runtime else "docker"
        self.exceptions: Mapping[str, str] = OWN_KERNEL if runtime and has_own_kernel(runtime) else {}

    def unavailable(self) -> str | None:
        """Why this machine can't use it and what to do about it; None if it can."""
        try:
            return unavailable(find_engine(), self.runtime)
        except NoEngineError as error:
            return str(error)

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` inside; see `mlebench.sandbox.Sandbox.run`."""
        with _engine(self.runtime) as (engine, client), scratch_folder() as scratch:
            remove_abandoned(client)
            writable = [world.submission, world.code, world.logs, scratch / "tmp"]
            user = _user(engine)
            _fill_scratch(scratch, world, user)
            image = _image(client, world)
            named = [Place(scratch / name, f"/etc/{name}") for name in ETC]
            places = outer_first([*image.places, *named, *places_of(world, scratch)])
            require_present(places)
            if system.is_real_root():
                system.require_readable(world)
            _hand_over(writable, user)
            settings = container_settings(world, command, limits, places, user, image, engine, self.runtime)
            with running(engine, client, settings) as container:
                watched = Watched(
                    container,
                    container.ready,
                    writable,
                    container.kill,
                    generations=2,
                    shared_memory=container.shared_memory,
                    terminate=container.terminate,
                )
                outcome = watch(watched, limits, output, world.warning_signal, observer)
                return container.judge(outcome)


@contextmanager
def _engine(runtime: str | None) -> Iterator[tuple[Engine, APIClient]]:
    """The engine and a client of it, whose errors are the sandbox's."""
    try:
        engine = find_engine()
    except NoEngineError as error:
        raise SandboxError(str(error)) from error
    if reason := unavailable(engine, runtime):
        raise SandboxError(reason)
    from docker.errors import DockerException
    from requests import RequestException

    client = connect(engine)
    try:
        yield engine, client
    except (DockerException, RequestException) as error:
        raise SandboxError(f"the container engine failed: {error}") from error
    finally:
        client.close()


# --- what the engine is asked for


@dataclass(frozen=True)
class Image:
    """What lies at the root of the inside."""

    name: str
    environment: Mapping[str, str]
    python: str  # that runs the first process
    is_own: bool  # with a system of its own; else that of this machine stands in `places`
    places: Sequence[Place] = ()
    checks_health: bool = False  # by a program that the engine runs inside now and then


@dataclass(frozen=True)
class User:
    """Whom the agent is."""

    number: int
    group: int


def container_settings(
    world: World,
    command: Sequence[str],
    limits: Limits,
    places: Sequence[Place],
    user: User,
    image: Image,
    engine: Engine,
    runtime: str | None = None,
) -> dict[str, Any]:
    """The container, in the words of the engine's interface."""
    counts = engine.rootless and system.counts_processes_by_namespace()  # for cgroups may not be ours to set
    return {
        "Image": image.name,
        "Entrypoint": first_command(image.python),
        "Cmd": [*relay_command(image.python, world, limits, counts), *command],
        "Env": [f"{name}={value}" for name, value in _environment(world, image, limits).items()],
        "User": f"{user.number}:{user.group}",
        "WorkingDir": "/home/code",
        "Hostname": "sandbox",
        "Labels": {LABEL: json.dumps(own_identity())},
        **({"Healthcheck": {"Test": ["NONE"]}} if image.checks_health else {}),
        "Tty": False,
        "OpenStdin": True,
        "StdinOnce": True,  # it closes with the runner's connection
        **{f"Attach{name}": True for name in ("Stdin", "Stdout", "Stderr")},
        "HostConfig": _host_settings(limits, places, image, engine, runtime),
    }


def _host_settings(
    limits: Limits, places: Sequence[Place], image: Image, engine: Engine, runtime: str | None
) -> dict[str, Any]:
    memory = limits.memory_bytes
    settings: dict[str, Any] = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *(["label=disable"] if SELINUX.exists() else [])],
        "Privileged": False,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "AutoRemove": True,
        "LogConfig": {"Type": "none"},  # what it prints would lie on the engine's disk, without bound
        "ShmSize": system.shared_memory(memory),
        "Mounts": [_mount(place) for place in places],
    }
    if memory is not None and engine.memory_limit:
        settings |= {"Memory": memory + OVERHEAD_MEMORY, "MemorySwap": memory + OVERHEAD_MEMORY}
    if limits.processes is not None and engine.process_limit:
        settings["PidsLimit"] = limits.processes + OVERHEAD_TASKS
    if limits.cpus is not None and not engine.rootless:
        settings["CpusetCpus"] = ",".join(map(str, limits.cpus))
    if limits.gpus and image.is_own:
        settings["DeviceRequests"] = [_gpu_request(limits.gpus, engine)]
    elif limits.gpus:  # the programs for them are in this machine's /usr already
        settings["Devices"] = [_device(path) for path in system.gpu_devices(limits.gpus)]
    if engine.name == "Podman" and engine.rootless:
        settings["UsernsMode"] = "keep-id"  # files that the agent makes are the caller's
    elif engine.remaps_users:
        settings["UsernsMode"] = "host"  # the agent has a user of its own already, who owns its folders
    if runtime:
        settings["Runtime"] = runtime
    return settings


def _mount(place: Place) -> dict[str, Any]:
    """A bind mount; of this form, for Docker makes nothing then where the source is missing."""
    return {
        "Type": "bind",
        "Source": os.path.abspath(place.source),  # noqa: PTH100 - a path, whatever links it goes through
        "Target": place.inside,
        "ReadOnly": not place.writable,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _device(path: Path) -> dict[str, str]:
    return {"PathOnHost": str(path), "PathInContainer": str(path), "CgroupPermissions": "rw"}


def _gpu_request(gpus: Sequence[int], engine: Engine) -> dict[str, Any]:
    if engine.name == "Podman":
        return {"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={number}" for number in gpus]}
    return {"Driver": "nvidia", "DeviceIDs": [str(number) for number in gpus], "Capabilities": [["gpu"]]}


def _environment(world: World, image: Image, limits: Limits) -> dict[str, str]:
    """The world's, over the image's, which knows where its programs are."""
    found = {"USER": "agent", "LOGNAME": "agent", **environment(world, "/tmp/home", "/tmp")}
    if "PATH" in image.environment and "PATH" not in world.environment:
        prefixes = [str(prefix / "bin") for prefix in world.software]
        found["PATH"] = os.pathsep.join([*prefixes, image.environment["PATH"]])
    proxies = {name: "" for lower in PROXIES for name in (lower, lower.upper())}
    gpus = {} if limits.gpus else {"NVIDIA_VISIBLE_DEVICES": "void"}  # images like to ask for all
    return {**proxies, **gpus, **found}


# --- the inside's system


def _image(client: APIClient, world: World) -> Image:
    """The world's image, which must be there; or an empty one, to which the system's folders are mounted."""
    if world.image is None:
        name = _system_image(client, world.root or Path("/"))
        return Image(name, {}, system.inner_python(world), False, system_places(world))
    from docker import errors

    try:
        found = client.inspect_image(world.image)["Config"]
    except errors.ImageNotFound as error:
        raise SandboxError(
            f'the container engine has no image "{world.image}"; '
            f"`docker pull {world.image}` (or `podman pull`) gets it from a registry"
        ) from error
    if volumes := found.get("Volumes"):
        raise SandboxError(
            f'the image "{world.image}" declares volumes ({", ".join(volumes)}), '
            "which an agent could fill unseen; use one without"
        )
    variables = dict(line.partition("=")[::2] for line in found.get("Env") or [])
    prefixes = [Place(prefix, str(prefix)) for prefix in world.software]
    return Image(world.image, variables, "python3", True, prefixes, bool(found.get("Healthcheck")))


def _system_image(client: APIClient, root: Path) -> str:
    """The name of an image with nothing but the links at the root of a system; it is made if it is not there."""
    from docker import errors

    links = system.links(root)
    # In its name, for Podman takes no tag here.
    name = f"{SYSTEM_IMAGE}-{hashlib.sha256(json.dumps(sorted(links.items())).encode()).hexdigest()[:16]}"
    try:
        client.inspect_image(name)
    except errors.ImageNotFound:
        client.import_image_from_data(_archive(links), name, "latest")
    return name


def _archive(links: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in ("etc", "proc", "sys", "dev", "run", "tmp", "var", "home", "usr"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return content.getvalue()


# --- whose files


def _user(engine: Engine) -> User:
    """Without root: the caller. With root: somebody who owns nothing on this machine, another in each attempt."""
    if os.geteuid() != 0:
        return User(os.geteuid(), os.getegid())
    number = AGENT if engine.rootless or not system.is_real_root() else FIRST_USER + secrets.randbelow(USERS)
    return User(number, number)


def _hand_over(folders: Sequence[Path], user: User) -> None:
    if user.number != os.geteuid():
        subprocess.run(["chown", "-Rh", f"{user.number}:{user.group}", *folders], check=True)


def _fill_scratch(scratch: Path, world: World, user: User) -> None:
    """Make the agent's /tmp, the files of /etc that name it, and a /home of mount points."""
    (scratch / "tmp" / "home").mkdir(parents=True)
    texts = {
        "passwd": f"root:x:0:0::/:/bin/false\nagent:x:{user.number}:{user.group}::/tmp/home:{system.shell(world)}\n",
        "group": f"root:x:0:\nagent:x:{user.group}:\n",
    }
    for name, text in texts.items():
        (scratch / name).write_text(text)
        (scratch / name).chmod(0o644)
    make_home(scratch / "home", world)
    subprocess.run(["chmod", "-R", "a+rX", scratch / "home"], check=True)
