"""Sandbox from Linux namespaces, set up by the program `bwrap`; needs neither root nor an image.

What an agent sees is built from an empty root: `/usr`, little of `/etc`, its own folders. `docs/sandbox.md` says
what holds and which test shows it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, World, system
from mlebench.sandbox.folders import scratch_folder
from mlebench.sandbox.inside import environment
from mlebench.sandbox.launcher import AGENT
from mlebench.sandbox.processes import descendants, processes, send
from mlebench.sandbox.watch import Watched, watch

HERE = Path(__file__).parent
RUN = "/run/mlebench"
MACHINE_FILES = (Path("/sys/devices/system/cpu"), Path("/sys/devices/system/node"))
ETC = {
    "passwd": f"root:x:0:0::/:/bin/false\nagent:x:{AGENT}:{AGENT}::/tmp/home:/bin/bash\n",
    "group": f"root:x:0:\nagent:x:{AGENT}:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
NEEDED_OPTIONS = ("--args", "--disable-userns", "--size", "--perms", "--info-fd")


class Bubblewrap:
    """Runs a program in namespaces of its own. See `mlebench.sandbox.Sandbox`."""

    name = "bubblewrap"

    def unavailable(self) -> str | None:
        """Why this machine can't use it and what to do about it; None if it can."""
        return _unavailable()

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` inside; see `mlebench.sandbox.Sandbox.run`.

        The calling thread must live until then, and does, for it waits: the kernel kills the sandbox when the
        thread that started it ends, be it by SIGKILL.
        """
        if reason := self.unavailable():
            raise SandboxError(reason)
        if system.is_real_root():
            system.require_readable(world)
        with scratch_folder() as scratch:
            _fill_scratch(scratch, world)
            writable = [world.submission, world.code, world.logs, scratch / "tmp"]
            ready, say_ready = os.pipe()
            told, tell = os.pipe()
            try:
                inside = _inside_command(world, command, limits, say_ready)
                options = [*_world_options(world, scratch, limits), "--info-fd", str(tell)]
                with _argument_file(options) as arguments:
                    process = subprocess.Popen(
                        [*_launcher(writable), "bwrap", "--args", str(arguments.fileno()), "--", *inside],
                        env={"USER": "agent", "LOGNAME": "agent", **environment(world, "/tmp/home", "/tmp")},
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,  # Ctrl-C at the terminal is for us, not for the agent
                        pass_fds=(say_ready, tell, arguments.fileno()),
                    )
            except BaseException:
                os.close(ready)
                os.close(told)
                raise
            finally:
                os.close(say_ready)
                os.close(tell)
            with os.fdopen(told) as news:
                inmates = _Inmates(process, news.fileno())
                watched = Watched(process, ready, writable, inmates.kill, 3, inmates.shared_memory)
                return watch(watched, limits, output, world.warning_signal, observer)


class _Inmates:
    """What runs inside, reached through its first process."""

    def __init__(self, process: subprocess.Popen[bytes], news: int) -> None:
        self._process, self._news, self._said = process, news, b""
        os.set_blocking(news, False)

    def first(self) -> int | None:
        """The first process inside, by its number outside; None as long as there is none."""
        with suppress(BlockingIOError):
            self._said += os.read(self._news, 4096)
        told = re.search(rb'"child-pid": (\d+)\b', self._said)
        return int(told[1]) if told and self._process.poll() is None else None

    def kill(self) -> None:
        """Kill all; the kernel ends the first process only after all others are gone."""
        first = self.first()
        if first is not None:
            send(signal.SIGKILL, [first])
        elif self._process.poll() is None:  # still being set up; what waits for its parent would wait for ever
            self._process.send_signal(signal.SIGSTOP)
            send(signal.SIGKILL, [self._process.pid, *descendants(self._process.pid, processes())])

    def shared_memory(self) -> int:
        """Bytes that lie in the inside's /dev/shm."""
        with suppress(OSError):
            if (first := self.first()) is not None:
                state = os.statvfs(f"/proc/{first}/root/dev/shm")
                return (state.f_blocks - state.f_bfree) * state.f_frsize
        return 0


# --- how the sandbox is entered


def _launcher(folders: Sequence[Path]) -> list[str]:
    if not system.is_real_root():
        return []
    return [system.own_python(), "-I", "-S", str(HERE / "launcher.py"), *map(str, folders), "--"]


def _isolation() -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options += ["--hostname", "sandbox", "--die-with-parent", "--cap-drop", "ALL"]
    if system.is_real_root():  # the relay becomes the agent's user, and these are gone
        return [*options, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [*options, "--unshare-user", "--disable-userns", "--uid", str(AGENT), "--gid", str(AGENT)]


def _inside_command(world: World, command: Sequence[str], limits: Limits, ready: int) -> list[str]:
    settings = {
        "ports": {port: f"{RUN}/{port}.sock" for port in world.sockets},
        "limits": _kernel_limits(limits),
        "cpus": None if limits.cpus is None else list(limits.cpus),
        "user": AGENT if system.is_real_root() else None,
        "ready": ready,
    }
    return [system.inner_python(world), "-I", "-S", f"{RUN}/relay.py", json.dumps(settings), *command]


def _kernel_limits(limits: Limits) -> dict[str, int]:
    """Limits that the kernel enforces on each process, beside those that are sampled."""
    found = {"CORE": 0}
    if limits.memory_bytes is not None:
        # Twice: sampling is to see a single process overstep, and programs reserve more than they use.
        found["DATA"] = 2 * limits.memory_bytes
    if limits.disk_bytes is not None:
        found["FSIZE"] = limits.disk_bytes + (1 << 20)
    if limits.processes is not None and system.counts_processes_by_namespace():
        found["NPROC"] = limits.processes + 2
    return found


def _argument_file(options: Sequence[str]) -> IO[bytes]:
    """The options in a file: a command line could be read from inside, and names places of the host."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(b"\0".join(os.fsencode(option) for option in options))
    file.seek(0)
    return file


# --- what stands inside


def _world_options(world: World, scratch: Path, limits: Limits) -> list[str]:
    options = [*_isolation(), *_system_options(world.root or Path("/"), limits)]
    for name in ("/tmp", "/var/tmp"):  # one folder; no link, for a Python environment may lie below either
        options += [*_parents(Path(name)), "--bind", str(scratch / "tmp"), name]
    for name in ETC:
        options += ["--ro-bind", str(scratch / name), f"/etc/{name}"]
    for prefix in system.prefixes(world):
        options += [*_parents(prefix), "--ro-bind", str(prefix), str(prefix)]
    options += ["--perms", "0755", "--dir", "/home"]
    for name in ("data", "agent"):
        options += ["--ro-bind", str(getattr(world, name)), f"/home/{name}"]
    for name in ("submission", "code", "logs"):
        options += ["--bind", str(getattr(world, name)), f"/home/{name}"]
    if world.notices is not None:
        options += ["--ro-bind", str(world.notices), "/home/notices"]
    for name, file in world.home_files.items():
        options += ["--ro-bind", str(file), f"/home/{name}"]
    options += [*_parents(Path(RUN, "x")), "--ro-bind", str(HERE / "relay.py"), f"{RUN}/relay.py"]
    for port, socket in world.sockets.items():
        options += ["--ro-bind", str(socket), f"{RUN}/{port}.sock"]
    for device in system.gpu_devices(limits.gpus):
        options += ["--dev-bind", str(device), str(device)]
    # What bwrap made itself lies in memory, without bound: nobody may write there.
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/home/code"]


def _system_options(root: Path, limits: Limits) -> list[str]:
    """The programs and libraries of the system whose tree is `root`, and the devices."""
    options = ["--perms", "0755", "--dir", "/etc"]
    for name, target in system.links(root).items():
        options += ["--symlink", target, f"/{name}"]
    for source, inside in (*system.parts(root), *((path, str(path)) for path in MACHINE_FILES if path.exists())):
        options += [*_parents(Path(inside)), "--ro-bind", str(source), inside]
    size = str(system.shared_memory(limits.memory_bytes))
    return [*options, "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"]


def _parents(path: Path) -> list[str]:
    """Make the folders above `path`, open to the agent, which in a root's sandbox is another user."""
    found = []
    for parent in list(reversed(path.parents))[1:]:
        found += ["--perms", "0755", "--dir", str(parent)]
    return found


def _fill_scratch(scratch: Path, world: World) -> None:
    (scratch / "tmp" / "home").mkdir(parents=True)
    for name, text in ETC.items():
        (scratch / name).write_text(text.replace("/bin/bash", system.shell(world)))
        (scratch / name).chmod(0o644)


# --- whether this machine can


@cache
def _unavailable() -> str | None:
    if sys.platform != "linux":
        return "bubblewrap needs Linux. On another system, run mlebench in a Linux machine or virtual machine."
    if shutil.which("bwrap") is None:
        return "the program bwrap is missing; install it, with `apt-get install bubblewrap` for example."
    if missing := [option for option in NEEDED_OPTIONS if option not in _help()]:
        return f"bwrap is too old, it lacks {', '.join(missing)}; install bubblewrap 0.8 or later."
    trial = [*_isolation(), "--ro-bind", "/", "/", "--proc", "/proc", "--", "true"]
    result = subprocess.run([*_launcher([]), "bwrap", *trial], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    return f"namespaces can't be made ({' '.join(result.stderr.split())[-300:]}). {_advice()}"


def _help() -> str:
    return subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False).stdout


def _advice() -> str:
    """What an administrator has to change, by what the kernel says."""
    for name, bad in (
        ("kernel.unprivileged_userns_clone", "0"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ("user.max_user_namespaces", "0"),
    ):
        with suppress(OSError):
            if Path("/proc/sys", *name.split(".")).read_text().strip() == bad:
                good = {"0": "1", "1": "0"}[bad] if name.startswith("kernel") else "65536"
                return f"An administrator can allow it: `sysctl -w {name}={good}`."
    return (
        "In a container, start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
        "--security-opt systempaths=unconfined`; elsewhere ask an administrator to allow user namespaces."
    )
