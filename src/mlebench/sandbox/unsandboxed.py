"""No isolation: the same world and the same limits, for agents that are trusted.

The agent finds its folders through the environment (DATA_DIR and so on), since `/home/...` can't be bound;
such paths in its command and in the values of its environment are rewritten. Ports are others than inside a
sandbox: the environment names them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from mlebench.sandbox import Limits, Observer, Outcome, World
from mlebench.sandbox.folders import scratch_folder
from mlebench.sandbox.inside import FOLDERS, environment
from mlebench.sandbox.supervisor import stop, supervised_by_us
from mlebench.sandbox.watch import Watched, watch

HERE = Path(__file__).parent


class Unsandboxed:
    """Runs a program with all rights of the caller. See `mlebench.sandbox.Sandbox`."""

    name = "none"
    # Checks of mlebench.sandbox.checks that can't hold here, and why.
    exceptions: Mapping[str, str] = MappingProxyType(
        {
            "the_world_stands_at_its_paths": "nothing is mounted; the environment names the folders",
            "data_and_agent_are_read_only": "the agent has the caller's rights",
            "there_is_no_network": "the agent has the caller's network",
            "host_files_and_labels_are_out_of_sight": "the agent has the caller's rights",
            "no_process_outside_is_visible": "processes are not separated",
            "there_are_no_privileges": "the agent has the caller's rights",
        }
    )

    def unavailable(self) -> str | None:
        """None: it works everywhere that Python does, but Windows."""
        return "it needs a POSIX system" if os.name != "posix" else None

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` with paths rewritten; see `mlebench.sandbox.Sandbox.run`."""
        with scratch_folder() as scratch:
            for name in ("home", "tmp"):
                (scratch / name).mkdir()
            writable = [world.submission, world.code, world.logs, scratch]
            ready, say_ready = os.pipe()
            try:
                process = subprocess.Popen(
                    [*supervised_by_us(say_ready), *_relay(world, limits, say_ready), *_rewritten(command, world)],
                    cwd=world.code,
                    env=_environment(world, scratch),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C at the terminal is for us, not for the agent
                    pass_fds=(say_ready,),
                )
            except BaseException:
                os.close(ready)
                raise
            finally:
                os.close(say_ready)
            watched = Watched(process, ready, writable, lambda: stop(process), generations=2)
            return watch(watched, limits, output, world.warning_signal, observer)


def _relay(world: World, limits: Limits, ready: int) -> list[str]:
    settings = {
        "ports": {port: str(socket) for port, socket in world.sockets.items()},
        "free_ports": True,
        "limits": {"CORE": 0, **({} if limits.disk_bytes is None else {"FSIZE": limits.disk_bytes + (1 << 20)})},
        "cpus": None if limits.cpus is None else list(limits.cpus),
        "ready": ready,
    }
    return [sys.executable, "-I", "-S", str(HERE / "relay.py"), json.dumps(settings)]


def _rewritten(values: Sequence[str], world: World) -> list[str]:
    """The values, those that are a path of the inside replaced by the host's."""
    places = {f"/home/{name}": getattr(world, name) for name in FOLDERS}
    places |= {f"/home/{name}": file for name, file in world.home_files.items()}
    if world.notices is not None:
        places["/home/notices"] = world.notices
    return [_rewrite(value, places) for value in values]


def _rewrite(value: str, places: Mapping[str, Path]) -> str:
    for inside, outside in places.items():
        if value == inside or value.startswith(inside + "/"):
            return str(outside.absolute()) + value[len(inside) :]
    return value


def _environment(world: World, scratch: Path) -> dict[str, str]:
    found = environment(world, str(scratch / "home"), str(scratch / "tmp"))
    return dict(zip(found, _rewritten(list(found.values()), world), strict=True))
