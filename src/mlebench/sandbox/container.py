"""Containers that run: held by this process, watched as a process, and removed whatever happens."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mlebench.errors import SandboxError
from mlebench.sandbox import Outcome
from mlebench.sandbox.engine import Engine, attach
from mlebench.sandbox.first import memory_kills
from mlebench.sandbox.processes import send

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "org.mlebench.runner"  # of each container: the process that holds it


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
        with suppress(ValueError, KeyError):  # a label of somebody else's
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


@contextmanager
def running(engine: Engine, client: APIClient, settings: Mapping[str, Any]) -> Iterator[Container]:
    """A container that is there and runs until this context ends."""
    name = f"mlebench-{secrets.token_hex(8)}"  # known before it is there, so that it can be removed in any case
    try:
        client.create_container_from_config(settings, name)
        runtime = settings["HostConfig"].get("Runtime") or engine.runtime
        container = Container(engine, client, name, has_own_kernel(runtime))
        container.start()
        yield container
    finally:
        _remove(client, name)


class Container:
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

    def terminate(self, seen: Collection[int]) -> None:
        """Ask all to end: those that were seen, or by way of the first process, which passes it on."""
        from docker.errors import APIError

        if not self._own_kernel:
            send(signal.SIGTERM, seen)
            return
        with suppress(APIError):  # it has ended meanwhile
            self._client.kill(self._name, "SIGTERM")

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
