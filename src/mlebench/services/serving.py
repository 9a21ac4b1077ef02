"""Serves an app on a Unix socket, which is how a service of the host reaches into a sandbox."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from mlebench.errors import SandboxError

START_SECONDS = 30
MAX_SOCKET_PATH = 100  # bytes; the kernel's limit is 107, macOS's 103


@contextmanager
def serve(app: Starlette, socket_path: Path) -> Iterator[None]:
    """Serve `app` on a Unix socket, in a thread, until the block is left.

    Whoever can reach the socket can use it: its folder should be private. Raises SandboxError if it can't start.
    """
    if len(str(socket_path).encode()) > MAX_SOCKET_PATH:
        raise SandboxError(f"the path of a socket is limited to {MAX_SOCKET_PATH} bytes: {socket_path}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path))
        socket_path.chmod(0o666)  # an agent that is another user must be able to connect
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=partial(server.run, sockets=[listener]), daemon=True)
        thread.start()
        try:
            _wait_until_started(server, thread)
            yield
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)
            socket_path.unlink(missing_ok=True)


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise SandboxError("a service could not be started")
        time.sleep(0.01)
