"""A hostile agent reaches nothing, leaves nothing, and its attempts end with the right name."""

import json
import os
import secrets
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mlebench.files import remove_tree
from mlebench.sandbox import Limits
from mlebench.sandbox.checks import alive, make_world
from mlebench.sandbox.collect import collect_submission

AGENT = Path(__file__).with_name("hostile_agent.py")
STRICT = ["bubblewrap", "docker"]
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Host:
    """What there is to find: a secret beside the data and in variables, and listening sockets."""

    secret: str
    told: dict[str, object]  # what a spy told the agent
    listeners: list[socket.socket]
    neighbour: int  # a process that has the secret in its environment

    def visitors(self) -> int:
        """How many of the sockets were reached."""
        count = 0
        for listener in self.listeners:
            with suppress(BlockingIOError):
                listener.accept()[0].close()
                count += 1
        return count


@pytest.fixture
def host(tmp_path):
    secret = secrets.token_hex(16)
    with ExitStack() as stack:
        os.environ["CANARY"] = secret
        stack.callback(os.environ.pop, "CANARY")
        neighbour = stack.enter_context(subprocess.Popen(["sleep", "600"], env={"CANARY": secret}))
        stack.callback(neighbour.kill)
        server = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        path = f"/tmp/canary-{secret[:8]}"
        beside = stack.enter_context(socket.socket(socket.AF_UNIX))
        beside.bind(path)
        stack.callback(os.unlink, path)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0canary-{secret[:8]}")
        for listener in (server, beside, abstract):
            listener.listen()
            listener.setblocking(False)
        told = {
            "secret": secret[::-1],  # so that what it was told is not what it looks for
            "paths": [str(tmp_path / "world" / "prepared" / "private" / "answers.csv"), str(AGENT)],
            "port": server.getsockname()[1],
            "address": _own_address(),
            "socket": path,
            "abstract": f"canary-{secret[:8]}",
            "pid": os.getpid(),
            "marker": f"marker-{secret[8:16]}",
        }
        yield Host(secret, told, [server, beside, abstract], neighbour.pid)
    remove_tree(tmp_path / "world")  # pytest can't remove folders nested that deep


def _own_address():
    """An address of this machine that is not the loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        try:
            client.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return client.getsockname()[0]


def hostile_world(folder, host):
    world = make_world(folder / "world", AGENT.read_text())
    (folder / "world" / "prepared" / "private" / "answers.csv").write_text(host.secret)
    (folder / "world" / "runner.log").write_text(host.secret)
    return replace(world, environment={"HOST": json.dumps(host.told)})


def attack(sandbox, way, folder, host, limits=None):
    world = hostile_world(folder, host)
    limits = limits or Limits(60, processes=200, memory_bytes=512 * MEGABYTE, grace_seconds=0.5)
    output = folder / "output.txt"
    outcome = sandbox.run(world, ["python3", "/home/agent/main.py", way, host.told["marker"]], limits, output)
    assert host.secret.encode() not in output.read_bytes()
    return world, outcome, output.read_text(errors="replace")


@pytest.mark.parametrize("way", ["search", "network", "escape"])
@pytest.mark.parametrize("name", [*STRICT, "docker on an image"])
def test_it_reaches_nothing(name, way, usable, host, tmp_path):
    _, outcome, output = attack(usable(name), way, tmp_path, host)
    assert outcome.end == "completed", output
    assert json.loads(output.splitlines()[-1]) == {"found": []}
    assert host.visitors() == 0


@pytest.mark.parametrize(("way", "sockets"), [("search", 0), ("network", 3)])
def test_without_a_sandbox_it_does(way, sockets, host, tmp_path):
    """So the agent is able to find what it is not shown. It may look at our folder and our processes only."""
    world = hostile_world(tmp_path, host)
    code = "import os, sys; walk = os.walk; os.walk = lambda top: walk(sys.argv[2]); real = os.listdir; "
    code += "os.listdir = lambda path: [sys.argv[4]] if path == '/proc' else real(path); "
    code += "exec(open(sys.argv[3]).read())"
    environment = {**os.environ, **world.environment, "SUBMISSION_DIR": ".", "LOGS_DIR": "."}
    command = [sys.executable, "-c", code, way, str(tmp_path), str(AGENT), str(host.neighbour)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    found = str(json.loads(result.stdout.splitlines()[-1])["found"])
    expected = ("answers.csv", "runner.log", "environ") if way == "search" else (str(host.told["port"]), "canary-")
    assert all(name in found for name in expected)
    assert host.visitors() == sockets


@pytest.mark.parametrize(
    ("way", "end", "limits"),
    [
        ("fork", "timeout", Limits(2, processes=100, memory_bytes=1024 * MEGABYTE, grace_seconds=0.3)),
        ("memory", "out-of-memory", Limits(30, processes=100, memory_bytes=300 * MEGABYTE)),
        ("shared_memory", "timeout", Limits(2, memory_bytes=300 * MEGABYTE, grace_seconds=0.3)),
        ("nameless_memory", "out-of-memory", Limits(30, memory_bytes=300 * MEGABYTE)),
        ("disk", "disk-full", Limits(30, disk_bytes=100 * MEGABYTE)),
        ("deep_disk", "disk-full", Limits(30, disk_bytes=100 * MEGABYTE)),
        ("stubborn", "timeout", Limits(1, grace_seconds=0.3)),
        ("daemon", "completed", Limits(30)),
        ("parricide", "agent-error", Limits(30)),
    ],
)
@pytest.mark.parametrize("name", STRICT)
def test_its_end_has_the_right_name(name, way, end, limits, usable, host, tmp_path):
    _, outcome, output = attack(usable(name), way, tmp_path, host, limits)
    assert outcome.end == end, (outcome, output[-2000:])
    assert outcome.seconds < 60  # and not for ever
    assert outcome.peak_memory_bytes < 4 * (limits.memory_bytes or 1 << 40)
    assert not alive(host.told["marker"])


@pytest.mark.parametrize("name", STRICT)
def test_what_it_leaves_is_harmless(name, usable, host, tmp_path):
    """Links, pipes, holes, 100,000 files, closed and endless folders: measured, not followed, removable."""
    limits = Limits(60, memory_bytes=512 * MEGABYTE, grace_seconds=0.5)
    world, outcome, output = attack(usable(name), "litter", tmp_path, host, limits)
    assert outcome.end == "completed", output
    assert outcome.peak_disk_bytes < 100 * MEGABYTE
    assert collect_submission(world.submission) is None
    assert (world.logs / "huge").stat().st_mode & 0o6000 == 0
    assert (world.logs / "huge").stat().st_uid == os.geteuid()
    remove_tree(world.code)
    assert not world.code.exists()
