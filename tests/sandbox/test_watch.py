"""Who is to blame when the machine itself runs short of memory or disk."""

import os
import subprocess
import threading
import time
from contextlib import suppress

import psutil
import pytest

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, find_sandbox, reserves, watch
from mlebench.sandbox.checks import make_world
from mlebench.sandbox.processes import is_killed

NAME = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
WRITE = """
import os, time
with open(os.environ["LOGS_DIR"] + "/file", "wb", buffering=0) as file:
    for _ in range({megabytes}):
        file.write(bytes(1 << 20))
time.sleep(30)
"""
TAKE = """
import time
kept = []
for _ in range(40):
    kept.append(b"x" * (64 << 20))
    time.sleep(0.1)
time.sleep(30)
"""


def run(tmp_path, program, **limits):
    world = make_world(tmp_path / "world", program)
    limits = Limits(60, grace_seconds=0.5, **limits)
    return find_sandbox(NAME).run(world, ["python3", "/home/agent/main.py"], limits, tmp_path / "output.txt")


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "none", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_who_fills_the_disk_is_to_blame(small_disk):
    outcome = run(small_disk, WRITE.format(megabytes=300))
    assert outcome.end == "disk-full"
    assert "of disk are left" in outcome.message


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_nobody_is_to_blame_for_a_disk_that_others_fill(small_disk):
    def fill():
        while not (small_disk / "world" / "logs" / "file").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        with suppress(OSError):
            (small_disk / "ballast").write_bytes(bytes(200 << 20))

    filler = threading.Thread(target=fill)
    filler.start()
    with pytest.raises(SandboxError, match="of disk are left"):
        run(small_disk, WRITE.format(megabytes=10))
    filler.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_nobody_is_to_blame_for_a_disk_that_was_full_before(small_disk):
    (small_disk / "ballast").write_bytes(bytes(200 << 20))
    with pytest.raises(SandboxError):
        run(small_disk, WRITE.format(megabytes=1))


def test_empty_files_are_limited_too(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "MAX_FILES", 1000)
    program = "import os\nfor number in range(1100):\n    open(f'{os.environ[\"LOGS_DIR\"]}/{number}', 'w').close()\n"
    outcome = run(tmp_path, program, disk_bytes=1 << 30)
    assert outcome.end == "disk-full"
    assert outcome.message.endswith("files and folders, 1,000 allowed")


def test_who_uses_the_memory_up_is_to_blame(tmp_path, monkeypatch):
    monkeypatch.setattr(reserves, "RESERVE_MEMORY", psutil.virtual_memory().available - (1 << 30))
    outcome = run(tmp_path, TAKE)
    assert outcome.end == "out-of-memory"
    assert "of the machine's memory are left" in outcome.message


def test_a_process_that_somebody_has_killed_is_known_while_it_still_is_there():
    """A zombie keeps what was pending; memory is given back more slowly than a sample is taken."""
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        assert not is_killed(sleeper.pid)
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        assert is_killed(sleeper.pid)
    assert not is_killed(sleeper.pid)
