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
import signal
import socket
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, World, system
from mlebench.sandbox.engine import Engine, NoEngineError, attach, connect, find_engine, unavailable
from mlebench.sandbox.first import memory_kills
from mlebench.sandbox.launcher import AGENT
from mlebench.sandbox.processes import send
from mlebench.sandbox.watch import Watched, environment, scratch_folder, watch

if TYPE_CHECKING:
    from docker import APIClient

HERE = Path(__file__).parent
RUN = "/run/mlebench"
LABEL = "org.mlebench.runner"  # of each container: the process that holds it
SYSTEM_IMAGE = "localhost/mlebench-system"  # all but empty: the system is mounted
FIRST_USER, USERS = 0x78000000, 0x07000000  # above those that bubblewrap's launcher takes
OVERHEAD_MEMORY = 48 << 20  # our two processes
OVERHEAD_TASKS = 3
SELINUX = Path("/sys/fs/selinux/enforce")  # where it is, a container may not read the folders it is given
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")  # engines like to pass on their own

_NOT_SEEN = "what runs in a kernel of its own can't be watched or signalled from outside"
OWN_KERNEL = {  # checks of mlebench.sandbox.checks that can't hold in gVisor and the like, and why
    "there_are_no_privileges": "the kernel inside is another, which tells less",
    **dict.fromkeys(
        ("time_is_limited", "who_heeds_the_warning_ends_by_itself", "time_running_short_is_told"), _NOT_SEEN
    ),
    **dict.fromkeys(("memory_is_limited", "a_child_that_takes_too_much_memory_dies_first"), _NOT_SEEN),
    **dict.fromkeys(("the_observer_sees_and_stops", "a_killed_runner_leaves_nothing_running"), _NOT_SEEN),
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
            _require_present(world, scratch, image)
            if system.is_real_root():
                system.require_readable(world)
            _hand_over(writable, user)
            settings = container_settings(world, command, limits, scratch, user, image, engine, self.runtime)
            with _container(engine, client, settings) as container:
                watched = Watched(
                    container,  # type: ignore[arg-type] - it has what of Popen is used
                    container.ready,
                    writable,
                    container.kill,
                    generations=2,
                    shared_memory=container.shared_memory,
                )
                outcome = watch(watched, limits, output, world.warning_signal, observer)
                return container.judge(outcome)


# --- what the engine is asked for


@dataclass(frozen=True)
class Image:
    """What lies at the root of the inside."""

    name: str
    environment: Mapping[str, str]
    python: str  # that runs the first process
    mounts: Sequence[tuple[Path, str]] = ()  # the system's folders, if they are not in the image


@dataclass(frozen=True)
class User:
    """Whom the agent is."""

    number: int
    group: int


def container_settings(
    world: World,
    command: Sequence[str],
    limits: Limits,
    scratch: Path,
    user: User,
    image: Image,
    engine: Engine,
    runtime: str | None = None,
) -> dict[str, Any]:
    """The container, in the words of the engine's interface."""
    return {
        "Image": image.name,
        "Entrypoint": [image.python, "-I", "-S", f"{RUN}/first.py"],
        "Cmd": [image.python, "-I", "-S", f"{RUN}/relay.py", _relay_settings(world, limits, engine), *command],
        "Env": [f"{name}={value}" for name, value in _environment(world, image, limits).items()],
        "User": f"{user.number}:{user.group}",
        "WorkingDir": "/home/code",
        "Hostname": "sandbox",
        "Labels": {LABEL: json.dumps(own_identity())},
        "Healthcheck": {"Test": ["NONE"]},
        "Tty": False,
        "OpenStdin": True,
        "StdinOnce": True,  # it closes with the runner's connection
        **{f"Attach{name}": True for name in ("Stdin", "Stdout", "Stderr")},
        "HostConfig": _host_settings(world, limits, scratch, image, engine, runtime),
    }


def _host_settings(
    world: World, limits: Limits, scratch: Path, image: Image, engine: Engine, runtime: str | None
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
        "Mounts": [_mount(*mount) for mount in mounts(world, scratch, image)],
    }
    if memory is not None and engine.memory_limit:
        settings |= {"Memory": memory + OVERHEAD_MEMORY, "MemorySwap": memory + OVERHEAD_MEMORY}
    if limits.processes is not None and engine.process_limit:
        settings["PidsLimit"] = limits.processes + OVERHEAD_TASKS
    if limits.cpus is not None and not engine.rootless:
        settings["CpusetCpus"] = ",".join(map(str, limits.cpus))
    if limits.gpus:
        settings["DeviceRequests"] = [_gpu_request(limits.gpus, engine)]
    if engine.name == "Podman" and engine.rootless:
        settings["UsernsMode"] = "keep-id"  # files that the agent makes are the caller's
    elif engine.remaps_users:
        settings["UsernsMode"] = "host"  # the agent has a user of its own already, who owns its folders
    if runtime:
        settings["Runtime"] = runtime
    return settings


def mounts(world: World, scratch: Path, image: Image) -> list[tuple[Path, str, bool]]:
    """What of this machine stands where inside, and whether it can be written."""
    found = [(source, inside, False) for source, inside in image.mounts]
    found += [(scratch / "tmp", inside, True) for inside in ("/tmp", "/var/tmp")]
    found += [(scratch / name, f"/etc/{name}", False) for name in ("passwd", "group")]
    found.append((scratch / "home", "/home", False))
    found += [(getattr(world, name), f"/home/{name}", False) for name in ("data", "agent")]
    found += [(getattr(world, name), f"/home/{name}", True) for name in ("submission", "code", "logs")]
    if world.notices is not None:
        found.append((world.notices, "/home/notices", False))
    found += [(file, f"/home/{name}", False) for name, file in world.home_files.items()]
    found += [(HERE / name, f"{RUN}/{name}", False) for name in ("first.py", "relay.py")]
    found += [(socket, f"{RUN}/{port}.sock", False) for port, socket in world.sockets.items()]
    return found


def _mount(source: Path, inside: str, writable: bool) -> dict[str, Any]:
    """A bind mount of this form fails if its source is missing, instead of making one."""
    return {
        "Type": "bind",
        "Source": os.path.abspath(source),  # noqa: PTH100 - a path, whatever links it goes through
        "Target": inside,
        "ReadOnly": not writable,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _gpu_request(gpus: Sequence[int], engine: Engine) -> dict[str, Any]:
    if engine.name == "Podman":
        return {"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={number}" for number in gpus]}
    return {"Driver": "nvidia", "DeviceIDs": [str(number) for number in gpus], "Capabilities": [["gpu"]]}


def _relay_settings(world: World, limits: Limits, engine: Engine) -> str:
    kernel = {"CORE": 0}
    if limits.memory_bytes is not None:
        kernel["DATA"] = 2 * limits.memory_bytes  # as in bubblewrap
    if limits.disk_bytes is not None:
        kernel["FSIZE"] = limits.disk_bytes + (1 << 20)
    if limits.processes is not None and engine.rootless and system.counts_processes_by_namespace():
        kernel["NPROC"] = limits.processes + 2  # for cgroups may not be ours to set
    settings = {
        "ports": {port: f"{RUN}/{port}.sock" for port in world.sockets},
        "limits": kernel,
        "cpus": None if limits.cpus is None else list(limits.cpus),
        "ready": 9,  # mlebench.sandbox.first.RUNNER
    }
    return json.dumps(settings)


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
        root = world.root or Path("/")
        folders = [*system.parts(root), *((prefix, str(prefix)) for prefix in system.prefixes(world))]
        return Image(_system_image(client, root), {}, system.inner_python(world), folders)
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
    prefixes = [(prefix, str(prefix)) for prefix in world.software]
    return Image(world.image, variables, "python3", prefixes)


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


def _require_present(world: World, scratch: Path, image: Image) -> None:
    """Podman would make an empty folder of what is missing."""
    for source, _, _ in mounts(world, scratch, image):
        if not source.exists():
            raise SandboxError(f"there is no {source}")


def _hand_over(folders: Sequence[Path], user: User) -> None:
    if user.number != os.geteuid():
        subprocess.run(["chown", "-Rh", f"{user.number}:{user.group}", *folders], check=True)


def _fill_scratch(scratch: Path, world: World, user: User) -> None:
    """Make the agent's /tmp, the files of /etc that name it, and a /home of mount points."""
    (scratch / "tmp" / "home").mkdir(parents=True)
    texts = {
        "passwd": f"root:x:0:0::/:/bin/false\nagent:x:{user.number}:{user.group}::/tmp/home:/bin/sh\n",
        "group": f"root:x:0:\nagent:x:{user.group}:\n",
    }
    for name, text in texts.items():
        (scratch / name).write_text(text)
        (scratch / name).chmod(0o644)
    home = scratch / "home"
    for name in ("data", "agent", "submission", "code", "logs", *(["notices"] if world.notices else [])):
        (home / name).mkdir(parents=True)
    for name, source in world.home_files.items():
        if Path(name).parts[0] not in ("data", "agent"):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).mkdir() if source.is_dir() else (home / name).touch()
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)


# --- the engine


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


def own_identity() -> dict[str, str | int]:
    """Which process this is, for all time and whichever processes others see."""
    return {
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "namespace": str(Path("/proc/self/ns/pid").readlink()),
        "pid": os.getpid(),
        "born": _born(os.getpid()),
    }


def _born(pid: int) -> int:
    """When a process was started, in ticks since the machine was; -1 if there is none."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    return -1


def remove_abandoned(client: APIClient) -> list[str]:
    """Remove containers whose runner is dead; their names.

    They end with their runner and the engine removes them then, unless it was down itself.
    """
    removed = []
    for container in client.containers(all=True, filters={"label": LABEL}):
        if _is_abandoned(json.loads(container["Labels"][LABEL]), container["State"]):
            _remove(client, container["Id"])
            removed.append(container["Id"])
    return removed


def _is_abandoned(runner: Mapping[str, Any], state: str) -> bool:
    own = own_identity()
    if runner["boot"] != own["boot"]:
        return state != "running"
    # From here, processes of another namespace can't be told from dead ones.
    return runner["namespace"] == own["namespace"] and _born(runner["pid"]) != runner["born"]


def _remove(client: APIClient, name: str) -> None:
    from docker.errors import APIError
    from requests import RequestException

    with suppress(APIError, RequestException):  # gone already, or going; or the engine is
        client.remove_container(name, v=True, force=True)


# --- a container that runs


@contextmanager
def _container(engine: Engine, client: APIClient, settings: Mapping[str, Any]) -> Iterator[_Container]:
    """A container that is there and runs until this context ends."""
    name = f"mlebench-{secrets.token_hex(8)}"  # known before it is there, so that it can be removed in any case
    try:
        client.create_container_from_config(settings, name)
        runtime = settings["HostConfig"].get("Runtime") or engine.runtime
        container = _Container(engine, client, name, has_own_kernel(runtime))
        container.start()
        yield container
    finally:
        _remove(client, name)


class _Container:
    """A container as `watch` wants a process: its first process, and what it prints in a pipe."""

    def __init__(self, engine: Engine, client: APIClient, name: str, own_kernel: bool) -> None:
        self._engine, self._client, self._name, self._own_kernel = engine, client, name, own_kernel
        self._ended = threading.Event()
        self._said = b""  # on standard error, which only the first process and the relay have
        self._kills_seen = 0
        self.pid = -1
        self.ready, self._say_ready = os.pipe()
        reading, writing = os.pipe()
        self.stdout: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self._print: IO[bytes] = os.fdopen(writing, "wb", buffering=0)

    def start(self) -> None:
        """Take hold of it, then let it run."""
        from requests import RequestException

        connection = None
        try:
            connection = attach(self._engine, self._name)
            self._client.start(self._name)
            if not self._own_kernel:
                pid = self._client.inspect_container(self._name)["State"]["Pid"]
                self.pid = _require_local(int(pid), self._engine)
        except BaseException as error:
            for end in (self.stdout, self._print, *([connection] if connection else [])):
                end.close()
            os.close(self.ready)
            os.close(self._say_ready)
            if isinstance(error, OSError) and not isinstance(error, RequestException):
                raise SandboxError(str(error)) from error
            raise
        threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        """Sort what the container says until it ends: a frame has a channel, a length and that many bytes."""
        with connection, connection.makefile("rb") as frames, self._print, suppress(OSError):  # the engine breaks off
            while head := frames.read(8):
                left = int.from_bytes(head[4:], "big")
                while left and (block := frames.read1(min(left, 1 << 16))):
                    left -= len(block)
                    self._take(head[0], block)
        os.close(self._say_ready)
        self._ended.set()

    def _take(self, channel: int, block: bytes) -> None:
        if channel != 2 or not (self._said or block.startswith(b"ready")):  # or the first process itself fails
            with suppress(BrokenPipeError):
                while block:
                    block = block[self._print.write(block) :]
            return
        if not self._said:
            os.write(self._say_ready, b"ready")
        self._said = (self._said + block)[:4096]

    @property
    def report(self) -> dict[str, int] | None:
        """The first process's last words; None if it had none."""
        with suppress(ValueError):
            return json.loads(self._said.removeprefix(b"ready"))
        return None

    def poll(self) -> int | None:
        """The exit code, None as long as it runs."""
        if not self._ended.is_set():
            return None
        return self.report["code"] if self.report else -9

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; subprocess.TimeoutExpired after `timeout` seconds."""
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired(self._name, timeout or 0)
        return self.poll() or 0

    def kill(self) -> None:
        """Kill all; the kernel ends the first process only after all others are gone."""
        from docker.errors import APIError
        from requests import RequestException

        if self._ended.is_set():
            return
        self._kills_seen = memory_kills(self._root())
        try:
            self._client.kill(self._name)
        except APIError:
            pass  # it has ended meanwhile
        except RequestException:  # the engine is gone
            send(signal.SIGKILL, [self.pid] if self.pid > 0 else [])

    def shared_memory(self) -> int:
        """Bytes that lie in the inside's /dev/shm."""
        with suppress(OSError):
            state = os.statvfs(f"{self._root()}/dev/shm")
            return (state.f_blocks - state.f_bfree) * state.f_frsize
        return 0

    def _root(self) -> str:
        """Where the inside's root can be seen; by way of the relay, for the first process is closed to all."""
        with suppress(OSError, IndexError):
            relay = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0]
            return f"/proc/{relay}/root"
        return "/nowhere"

    def judge(self, outcome: Outcome) -> Outcome:
        """What the kernel did, and whether the engine failed us."""
        report = self.report
        if report is None and outcome.exit_code is not None:  # it was not us who killed it
            raise SandboxError("the container ended without a word; was its engine stopped?")
        kills = report["memory_kills"] if report else self._kills_seen
        if not kills or outcome.end != "agent-error" or outcome.exit_code != 128 + signal.SIGKILL:
            return replace(outcome, memory_kills=outcome.memory_kills + kills)
        message = "the kernel killed the agent, for all together used more memory than is allowed"
        kills += outcome.memory_kills - 1
        return replace(outcome, end="out-of-memory", exit_code=None, message=message, memory_kills=kills)


def has_own_kernel(runtime: str) -> bool:
    """Whether what runs inside is no process of this machine, so that it can't be watched from outside."""
    return any(word in runtime.lower() for word in ("runsc", "gvisor", "kata", "krun"))


def _require_local(pid: int, engine: Engine) -> int:
    """The number of a first process, if it is one of this machine's; -1 if it has ended already."""
    try:
        status = Path(f"/proc/{pid}/status").read_text() if pid > 0 else ""
    except OSError:
        status = ""
    if not status:
        return -1
    if not any(line.startswith("NSpid:") and line.endswith("\t1") for line in status.splitlines()):
        raise SandboxError(f"the container engine at {engine.address} does not run where mlebench does")
    return pid
