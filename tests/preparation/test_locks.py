"""The lock between processes: one holder, waiting, dead and silent holders."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.locks import held, held_if_free, require_held
from mlebench.preparation.progress import shown_on

HOLDER = """
import sys, time
from pathlib import Path
from mlebench.preparation.locks import held
with held(Path(sys.argv[1]), "holding"):
    print("held", flush=True)
    sys.stdin.readline()
"""

ADDER = """
import sys, time
from pathlib import Path
from mlebench.preparation.locks import held
folder = Path(sys.argv[1])
for _ in range(20):
    with held(folder / ".lock", "adding"):
        count = int((folder / "count").read_text())
        time.sleep(0.001)
        (folder / "count").write_text(str(count + 1))
"""


class Texts:
    """Keeps the texts of the steps."""

    def __init__(self):
        self.texts = []
        self.changed = threading.Event()

    def start(self, text, total, unit):  # noqa: ARG002
        self.texts.append(text)
        self.changed.set()
        return 0

    def advance(self, step, amount):
        pass

    def finish(self, step):
        pass


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until it is told to let go or is killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / ".lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_only_one_holds_it(tmp_path):
    (tmp_path / "count").write_text("0")
    children = [subprocess.Popen([sys.executable, "-c", ADDER, str(tmp_path)]) for _ in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    assert (tmp_path / "count").read_text() == "80"
    assert [path.name for path in tmp_path.iterdir()] == ["count"]


def test_who_waits_says_for_whom(tmp_path, holder):
    shown = Texts()

    def wait():
        with shown_on(shown), held(tmp_path / ".lock", "rivers: preparing"):
            shown.texts.append("held")

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert shown.changed.wait(60)
    assert "held" not in shown.texts
    holder.communicate("let go\n")
    waiting.join()
    assert shown.texts[0] == f"rivers: preparing: waiting for process {holder.pid} on {socket.gethostname()}"
    assert shown.texts[-1] == "held"


def test_it_is_not_waited_for_if_that_is_wished(tmp_path, holder):
    with held_if_free(tmp_path / ".lock") as free:
        assert not free
    holder.communicate("let go\n")
    with held_if_free(tmp_path / ".lock") as free:
        assert free
        assert (tmp_path / ".lock").exists()
    assert not (tmp_path / ".lock").exists()


def test_a_killed_holder_is_followed_at_once(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / ".lock").exists()
    with held_if_free(tmp_path / ".lock") as free:
        assert free


def elsewhere(tmp_path, silence):
    """The lock file of a process on another host."""
    lock, written = tmp_path / ".lock", tmp_path / "written"
    written.write_text(f"filelock/2\npid={os.getpid()}\nhost=elsewhere\nmode=lease\ntoken=1\nduration={silence!r}\n")
    written.replace(lock)
    return lock


def test_a_silent_holder_on_another_host_is_followed(tmp_path):
    lock = elsewhere(tmp_path, 0.5)
    with held_if_free(lock, silence=0.5) as free:
        assert not free  # it has not been silent for long
    with held(lock, "preparing", silence=0.5):
        assert "host=elsewhere" not in lock.read_text()


def test_a_holder_on_another_host_that_renews_it_keeps_it(tmp_path):
    lock = elsewhere(tmp_path, 1.0)
    taken = threading.Event()
    released = []

    def wait():
        with held(lock, "preparing", silence=1.0):
            released.append(not lock_is_renewed)
            taken.set()

    lock_is_renewed = True
    waiting = threading.Thread(target=wait)
    waiting.start()
    for _ in range(30):  # three times as long as silence is borne
        os.utime(lock)
        time.sleep(0.1)
    lock_is_renewed = False
    lock.unlink()
    waiting.join()
    assert released == [True]


def test_who_lost_the_lock_is_told(tmp_path):
    lock = tmp_path / ".lock"
    with held(lock, "preparing", silence=0.3) as mine:
        require_held(mine)
        elsewhere(tmp_path, 0.3)
        while mine.compromise is None:  # until its renewal notices
            time.sleep(0.01)
        with pytest.raises(PreparationError, match="took over"):
            require_held(mine)


def test_a_lock_without_a_name_is_cleared(tmp_path):
    """What a process leaves that is killed between creating the file and writing to it, or that used flock."""
    lock = tmp_path / ".lock"
    lock.touch()
    with held_if_free(lock) as free:
        assert not free
    os.utime(lock, (1, 1))
    with held(lock, "preparing"):
        assert lock.read_text()
