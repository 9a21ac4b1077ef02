"""Sandbox from a container of Apptainer (or Singularity), which clusters have where Docker is not allowed.

The system that an agent sees is an image (`World.image`: a .sif file, or a folder), the tree of `World.root`, or this
machine's own `/usr`. It needs neither root nor a daemon, and the agent's processes descend from the runner's.
`docs/sandbox.md` says what holds.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, World, system
from mlebench.sandbox.folders import measure, scratch_folder
from mlebench.sandbox.inside import environment
from mlebench.sandbox.places import (
    RUN,
    Place,
    first_command,
    make_home,
    make_mount_point,
    outer_first,
    places_of,
    relay_command,
    require_present,
    system_places,
)
from mlebench.sandbox.processes import descendants, processes
from mlebench.sandbox.supervisor import stop, supervised_by_us
from mlebench.sandbox.watch import Watched, watch

PROGRAMS = ("apptainer", "singularity")
# Into the agent's environment; standard error, until the first process has it, is for the runner.
ENTER = f'. {RUN}/environment; exec 2>{RUN}/words; exec "$@"'
TRIAL = "import json, socket; print(json.dumps([name for _, name in socket.if_nameindex()]))"
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
DORMANT = ("lo", "sit0", "tunl0", "ip6tnl0")  # interfaces that kernels put into each namespace, and that lead nowhere
INSTALL = (
    "on a cluster, `module load apptainer` or ask its administrators; elsewhere `conda install -c conda-forge "
    "apptainer`, or as https://apptainer.org/docs/admin/latest/installation.html says."
)


class Apptainer:
    """Runs a program in a container of Apptainer. See `mlebench.sandbox.Sandbox`."""

    name = "apptainer"

    def unavailable(self) -> str | None:
        """Why this machine can't use it and what to do about it; None if it can."""
        return _unavailable(os.environ.get("PATH", ""))

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` inside; see `mlebench.sandbox.Sandbox.run`."""
        if reason := self.unavailable():
            raise SandboxError(reason)
        with scratch_folder() as scratch, _shared_memory() as shared:
            _fill_scratch(scratch, world)
            places = all_places(world, scratch, shared)
            root = world.image or str(_make_root(scratch / "root", world.root or Path("/"), places))
            entering = [_program(), *options(places, limits), root, *inside_command(world, command, limits)]
            ready = os.open(scratch / "words", os.O_RDONLY | os.O_NONBLOCK)
            try:
                process = _start(entering)
            except BaseException:
                os.close(ready)
                raise
            program = _Program(process)
            watched = Watched(
                program,
                ready,
                [world.submission, world.code, world.logs, scratch / "tmp"],
                lambda: stop(process),
                generations=2,
                shared_memory=lambda: measure([shared]).size if shared else 0,
            )
            assert process.stdin is not None
            with process.stdin:
                return watch(watched, limits, output, world.warning_signal, observer)


# --- the command line


def options(places: Sequence[Place], limits: Limits) -> list[str]:
    """What comes between the program and the image."""
    found = ["exec", "--containall", "--cleanenv", "--no-home", "--no-mount", "bind-paths,hostfs"]
    found += ["--net", "--network", "none", "--hostname", "sandbox", "--pwd", "/home/code"]
    if limits.gpus:
        found.append("--nv")
    for place in places:
        if {":", ","} & set(f"{place.source}{place.inside}"):
            raise SandboxError(f"Apptainer takes no path with a colon or comma: {place.source}")
        found += ["--bind", f"{place.source}:{place.inside}:{'rw' if place.writable else 'ro'}"]
    return found


def all_places(world: World, scratch: Path, shared: Path | None = None) -> list[Place]:
    """All places, outer ones before those within them."""
    found = [Place(prefix, str(prefix)) for prefix in world.software] if world.image else system_places(world)
    found += [Place(shared, "/dev/shm", True)] if shared else []
    found.append(Place(scratch / "hosts", "/etc/hosts"))
    found += [Place(scratch / "environment", f"{RUN}/environment"), Place(scratch / "words", f"{RUN}/words", True)]
    found = outer_first([*found, *places_of(world, scratch)])
    require_present(found)
    return found


def inside_command(world: World, command: Sequence[str], limits: Limits) -> list[str]:
    """What runs inside: a shell that becomes our first process, the relay below it, the agent's program below that."""
    python = "python3" if world.image else system.inner_python(world)
    relay = relay_command(python, world, limits)
    return ["/bin/sh", "-c", ENTER, "sh", *first_command(python), *relay, *command]


def environment_script(world: World) -> str:
    """The agent's environment for a shell; an image's own PATH comes after what is put before it."""
    found = {"USER": "agent", "LOGNAME": "agent", **environment(world, "/tmp/home", "/tmp")}
    lines = []
    for name, value in found.items():
        if name == "PATH" and world.image and "PATH" not in world.environment:
            prefixes = "".join(f"{prefix / 'bin'}:" for prefix in world.software)
            lines.append(f'export PATH={shlex.quote(prefixes)}"$PATH"')
        else:
            lines.append(f"export {name}={shlex.quote(value)}")
    return "\n".join(lines) + "\n"


# --- what has to be there before


def _fill_scratch(scratch: Path, world: World) -> None:
    (scratch / "tmp" / "home").mkdir(parents=True)
    (scratch / "environment").write_text(environment_script(world))
    (scratch / "hosts").write_text("127.0.0.1 localhost sandbox\n")
    os.mkfifo(scratch / "words", 0o600)
    make_home(scratch / "home", world)


def _make_root(folder: Path, root: Path, places: Sequence[Place]) -> Path:
    """A folder with the links of the system `root`, and a mount point for each place that is not within another."""
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "var/tmp", "home", "root"):
        (folder / name).mkdir(parents=True)
    for name, target in system.links(root).items():
        (folder / name).symlink_to(target)
    texts = {
        "passwd": "root:x:0:0::/:/bin/false\n",
        "group": "root:x:0:\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "resolv.conf": "",
    }
    for name, text in texts.items():
        (folder / "etc" / name).write_text(text)
    for place in places:
        if not place.inside.startswith(("/home/", "/dev/")):
            make_mount_point(folder / place.inside.lstrip("/"), place.source)
    return folder


@contextmanager
def _shared_memory() -> Iterator[Path | None]:
    """A folder in memory: the container's own /dev/shm holds no more than 64 MiB."""
    if not os.access("/dev/shm", os.W_OK):
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="mlebench-", dir="/dev/shm"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start it under a supervisor, for Apptainer may outlive whoever calls it."""
    unused = os.open(os.devnull, os.O_WRONLY)
    try:
        return subprocess.Popen(
            [*supervised_by_us(unused), *command],
            env=_environment_for_apptainer(os.environ),
            stdin=subprocess.PIPE,  # as long as it is open, somebody is there
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the terminal is for us, not for the agent
            pass_fds=(unused,),
        )
    finally:
        os.close(unused)


def _environment_for_apptainer(ours: Mapping[str, str]) -> dict[str, str]:
    """What Apptainer needs of ours: the agent can read it all, and some of it lets things into every container."""
    letting_in = ("ENV_", "_BIND", "_BINDPATH", "_MOUNT", "_NV", "_ROCM", "_HOME", "_PASSWORD", "_USERNAME")
    return {
        name: value
        for name, value in ours.items()
        if name in KEPT
        or (name.startswith(("APPTAINER_", "SINGULARITY_")) and not any(word in name for word in letting_in))
    }


class _Program:
    """What `watch` watches: as a process, our first one inside, once it is there."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._first = process, -1
        self.stdout: IO[bytes] | None = process.stdout
        self.poll, self.wait, self.kill = process.poll, process.wait, process.kill

    @property
    def pid(self) -> int:
        """The first process inside by its number outside; until it is there, the supervisor's."""
        if self._first < 0:
            below = descendants(self._process.pid, processes())
            self._first = next((pid for pid in below if _is_first(pid)), -1)
        return self._process.pid if self._first < 0 else self._first


def _is_first(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[3:4] == [f"{RUN}/first.py".encode()]
    return False


# --- whether this machine can


def _program() -> str:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), PROGRAMS[0])


@cache
def _unavailable(path: str) -> str | None:  # noqa: ARG001 - what is on PATH decides
    if sys.platform != "linux":
        return "apptainer needs Linux. On another system, run mlebench in a Linux machine or virtual machine."
    if not shutil.which(_program()):
        return f"the program apptainer is missing; {INSTALL}"
    if os.geteuid() == 0:
        return "run by root, apptainer makes the agent root. Run mlebench as another user, or use another sandbox."
    return _refusal()


def _refusal() -> str | None:
    """Why a trial without network fails, which depends on how the machine's Apptainer was installed."""
    with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
        parts = [Place(*part) for part in system.parts(Path("/"))]
        python = Path(system.own_python()).parent.parent
        parts += [] if python.is_relative_to("/usr") else [Place(python, str(python))]
        home = Path(folder, "home")
        (home / "code").mkdir(parents=True)
        parts.append(Place(home, "/home"))
        root = _make_root(Path(folder, "root"), Path("/"), parts)
        command = [_program(), *options(parts, Limits(60)), str(root), system.own_python(), "-I", "-S", "-c", TRIAL]
        environment = _environment_for_apptainer(os.environ)
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    advice = (
        "An administrator can allow it: unprivileged user namespaces (`sysctl -w user.max_user_namespaces=65536`), or "
        "`allow net users` in apptainer.conf."
    )
    if result.returncode != 0:
        return f"apptainer can't start a container without network ({' '.join(result.stderr.split())[-300:]}). {advice}"
    if interfaces := set(json.loads(result.stdout)) - set(DORMANT):
        return f"apptainer leaves the network open ({', '.join(sorted(interfaces))}). {advice}"
    return None
