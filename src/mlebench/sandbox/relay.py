"""The first process inside a sandbox: forwards local ports to Unix sockets, runs the agent, hands on its exit code.

`python -I -S relay.py SETTINGS COMMAND...` with SETTINGS as JSON: `ports` (port -> path of a Unix socket),
`free_ports` (take any free port instead and say so in the environment), `limits` (name of an RLIMIT -> value),
`cpus`, `user` (id to become), `ready` (a file descriptor that hears of the start of the command).

It stands alone, with the standard library only, and needs no trust: it has no more rights than the agent, and
if the agent harms it, the attempt is over. Whoever stops the sandbox signals every process in it, so the relay
lets SIGTERM and SIGINT pass; it ends when the agent does.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence
    from typing import Any

MAX_CONNECTIONS = 128
BLOCK = 1 << 16


def main(settings: Mapping[str, Any], command: Sequence[str]) -> int:
    """Run `command`, forward the ports meanwhile, and return its exit code (128 + n after signal n)."""
    restrict(settings.get("limits", {}), settings.get("cpus"))
    become(settings.get("user"))
    routes = []
    for port, path in settings.get("ports", {}).items():
        listener = listen(0 if settings.get("free_ports") else int(port))
        rename_port(int(port), listener.getsockname()[1])
        routes.append((listener, path))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, unlike SIG_IGN, is not inherited by the agent
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"{command[0]} can't be started: {error.strerror}", file=sys.stderr)
        announce(settings.get("ready"))
        return 127
    announce(settings.get("ready"))

    import asyncio  # after the start of the agent: it takes 50 ms

    asyncio.run(forward_until_end(child, routes))
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def become(user: int | None) -> None:
    """Give up root for good."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def restrict(limits: Mapping[str, int], cpus: Sequence[int] | None) -> None:
    """Set hard limits and processors, which all children inherit; prefer the agent when the kernel must kill."""
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (bounded, bounded))
    if cpus is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        pass  # not Linux, or not allowed


def listen(port: int) -> socket.socket:
    """Listen on the port of 127.0.0.1."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(MAX_CONNECTIONS)
    listener.setblocking(False)
    return listener


def rename_port(wanted: int, actual: int) -> None:
    """Name the actual port in the environment wherever it names the wanted one."""
    if wanted != actual:
        for host in ("localhost", "127.0.0.1"):
            for name, value in os.environ.items():
                os.environ[name] = value.replace(f"{host}:{wanted}", f"{host}:{actual}")


def announce(ready: int | None) -> None:
    """Say that the sandbox stands; the agent must not hold this descriptor."""
    if ready is not None:
        os.write(ready, b"ready")
        os.close(ready)


async def forward_until_end(child: subprocess.Popen[bytes], routes: Sequence[tuple[socket.socket, str]]) -> None:
    """Serve the routes until the child has ended."""
    import asyncio

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    # A signal, no thread that waits: an agent may have used up all threads there are.
    loop.add_signal_handler(signal.SIGCHLD, lambda: child.poll() is not None and ended.set())
    loop.set_exception_handler(lambda *_: None)
    places = asyncio.Semaphore(MAX_CONNECTIONS)
    servers = [
        await asyncio.start_server(lambda r, w, path=path: forward(r, w, path, places), sock=listener)
        for listener, path in routes
    ]
    if child.poll() is None:
        await ended.wait()
    for server in servers:
        server.close()


async def forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, places: asyncio.Semaphore
) -> None:
    """Copy both directions between a connection and the Unix socket at `path`."""
    import asyncio

    async with places:
        try:
            to_reader, to_writer = await asyncio.open_unix_connection(sock=await connect(path))
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer))
        except OSError:
            pass  # one side broke off
        finally:
            writer.close()
            to_writer.close()


async def connect(path: str) -> socket.socket:
    """Connect to the Unix socket at `path`; asyncio takes one whose queue is full for a broken one."""
    import asyncio

    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.setblocking(False)
    while True:
        try:
            client.connect(path)
            return client
        except BlockingIOError:
            await asyncio.sleep(0.02)
        except OSError:
            client.close()
            raise


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end, then close this direction."""
    while block := await reader.read(BLOCK):
        writer.write(block)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
