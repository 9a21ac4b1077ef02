"""Runs a command and leaves nothing of it behind, even if whoever started it is killed.

On Linux it adopts every process that loses its parent (PR_SET_CHILD_SUBREAPER), so that none escapes; elsewhere,
one that starts a session of its own and loses its parent does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mlebench.sandbox.processes import descendants, processes, send

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PAUSE = 0.2
STOP_SECONDS = 60


class _Stopped(Exception):
    """SIGTERM came."""


def main(parent: int, ready: int, command: Sequence[str]) -> int:
    """Run `command` and return its exit code; all its descendants are dead by then.

    `parent` is the process that waits for us; the descriptor `ready` is handed on to the command.
    """
    adopt_orphans()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = None
    try:
        child = subprocess.Popen(command, pass_fds=[ready], start_new_session=True)
        os.close(ready)
        while child.poll() is None:
            if os.getppid() != parent:
                raise _Stopped
            with suppress(subprocess.TimeoutExpired):
                child.wait(PAUSE)
    except _Stopped:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        kill_all(child)
    assert child is not None
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def supervised_by_us(ready: int) -> list[str]:
    """The beginning of a command line that supervises the rest of it for this process; `ready` must be passed to it.

    Isolated from the environment (-I), which is the agent's.
    """
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    code += "from mlebench.sandbox import supervisor; "
    code += f"sys.exit(supervisor.main({os.getpid()}, {ready}, sys.argv[1:]))"
    return [sys.executable, "-I", "-c", code]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Have a supervisor kill everything."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _stop(*_: object) -> None:
    raise _Stopped


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, and hear of the end of our own parent."""
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def kill_all(child: subprocess.Popen[bytes] | None) -> None:
    """Kill all descendants, and again those that were born meanwhile."""
    if child is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    while left := descendants(os.getpid(), processes()):
        send(signal.SIGKILL, left)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)
