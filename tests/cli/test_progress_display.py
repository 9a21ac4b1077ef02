"""What is shown of preparations under way, with and without a terminal."""

import doctest
import os
import pty
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from rich.console import Console

from mlebench import catalog
from mlebench.cli import progress_display
from mlebench.cli.progress_display import _Lines, picture
from mlebench.preparation.pipeline.board import Board
from mlebench.preparation.progress import shown_on, step

MB, GB = 1_000_000, 1_000_000_000
LONGEST = "google-research-identify-contrails-reduce-global-warming"


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def busy(clock):
    """82 competitions: four there, two downloads, two preparations."""
    board = Board(clock)
    for number in range(78):
        board.expect(f"competition-{number}", 40 * GB, True)
    for name in ("there", LONGEST, "unpacked", "placed"):
        board.expect(name, 2 * GB, True)
    for number in range(4):
        board.enter(f"competition-{number}", "done")
    for name, size in ((LONGEST, 450 * GB), ("competition-5", 40 * GB)):
        board.enter(name, "downloading")
        display = board.display(name)
        handle = display.start(f"{name}: downloading from Kaggle", size, "B")
        for _ in range(10):
            clock.now += 1
            display.advance(handle, 85 * MB)
    for name, text, total, unit in (
        ("unpacked", "unpacking unpacked.zip", 3 * GB, "B"),
        ("placed", "placing files", 50_000, "files"),
    ):
        board.enter(name, "preparing")
        display = board.display(name)
        display.advance(display.start(text, total, unit), total // 4)
    return board


def drawn(board, width, height=24):
    console = Console(width=width, height=height, record=True, file=open(os.devnull, "w"), legacy_windows=False)  # noqa: PTH123, SIM115
    console.print(picture(board, width, height))
    console.file.close()
    return console.export_text().rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [80, 110, 160])
def test_many_competitions(busy, width):
    lines = drawn(busy, width)
    assert len(lines) == 6  # one is empty
    assert all(len(line.rstrip()) <= width for line in lines)
    assert lines[1].startswith("4 of 82 competitions · 1.7 GB/3.4 TB downloaded")
    for line, name, text, amount in zip(
        lines[2:],
        ("competition-5", LONGEST[:20], "unpacked", "placed"),
        ("downloading", "downloading", "unpacking", "placing files"),
        ("0.8/40.0 GB", "0.8/450.0 GB", "0.8/3.0 GB", "12,500/50,000 files"),
        strict=True,
    ):
        assert line.startswith(name)
        assert text in line
        assert amount in line
    assert "MB/s" in lines[2]


def test_a_low_screen_is_not_overrun(busy):
    assert len(drawn(busy, 80, height=5)) <= 5
    assert drawn(busy, 80, height=5)[-1] == "and 3 more"


def test_a_single_competition_has_no_totals(clock):
    board = Board(clock)
    board.expect("dogs", 8 * GB, True)
    board.enter("dogs", "downloading")
    display = board.display("dogs")
    handle = display.start("dogs: downloading from Kaggle", 8 * GB, "B")
    for _ in range(10):
        clock.now += 1
        display.advance(handle, 100 * MB)
    (line,) = [line for line in drawn(board, 80) if line]
    assert re.fullmatch(r"dogs +downloading [━╸╺ ]+1.0/8.0 GB +90 MB/s, about 1 min left *", line)


def test_lines_where_there_is_no_terminal(clock, capsys):
    board = Board(clock)
    for name in ("dogs", "cats"):
        board.expect(name, 8 * GB, True)
    said = []
    with _Lines(board) as lines, shown_on(board.display("dogs")):
        board.enter("dogs", "downloading")
        with step("dogs: downloading from Kaggle", 8 * GB, "B") as done:
            done(0)
            for second in range(300):
                clock.now += 1
                done(10 * MB)
                lines._say_what_takes_long()
                said += [(second, line) for line in capsys.readouterr().err.splitlines()]
    dogs = [(second, line) for second, line in said if line.startswith("dogs: ")]
    assert dogs[0] == (9, "dogs: downloading, 0.1 of 8.0 GB at 10 MB/s")
    waits = [after[0] - before[0] for before, after in pairwise(dogs)]
    assert min(waits) >= 10
    assert max(waits) > 15  # fewer later on
    totals = [line for _, line in said if not line.startswith("dogs: ")]
    assert totals[0] == "0 of 2 competitions · 0.1/16.0 GB downloaded · 10 MB/s"


def test_a_wait_is_shown(clock, capsys):
    board = Board(clock)
    board.expect("dogs", 8 * GB, True)
    board.enter("dogs", "downloading")
    with _Lines(board) as lines, shown_on(board.display("dogs")), step("trying again in 60 s: too many requests", 1):
        assert "trying again in 60 s" in "".join(drawn(board, 80))
        clock.now += 11
        lines._say_what_takes_long()
    assert capsys.readouterr().err == "dogs: trying again in 60 s: too many requests\n"


def test_amounts_and_times_as_text():
    assert doctest.testmod(progress_display).failed == 0


class Terminal:
    """The program in a true terminal of 80 columns, which sends it signals as keys are typed."""

    _CODE = (
        "import fcntl, runpy, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "runpy.run_module('mlebench', run_name='__main__', alter_sys=True)"
    )

    def __init__(self, *arguments):
        self.parent, child = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self._CODE, *map(str, arguments)],
            **{"stdin": child, "stdout": child, "stderr": child},
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
            start_new_session=True,
        )
        os.close(child)
        self.shown = b""

    def read(self, until=None):
        """All that is shown, or up to when `until` is among it."""
        try:
            while until is None or until not in self.shown:
                self.shown += os.read(self.parent, 1 << 16)
        except OSError:  # how the end of a terminal looks
            assert until is None, self.shown
            os.close(self.parent)

    @property
    def text(self):
        return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", self.shown).decode()

    def has_its_cursor_back(self):
        return self.shown.rindex(b"\x1b[?25h") > self.shown.rindex(b"\x1b[?25l")


def test_on_a_terminal(tmp_path):
    """Preparing two twins, one after the other."""
    ids = ("spaceship-titanic", "spooky-author-identification")
    chosen = [part for each in ids for part in ("-c", each)]
    terminal = Terminal("prepare", *chosen, "--source", "synthetic", "--data-dir", tmp_path, "--jobs", "1")
    terminal.read()
    assert terminal.process.wait(60) == 0, terminal.shown
    assert terminal.has_its_cursor_back()
    text = terminal.text
    assert f"2 to prepare in {tmp_path}" in text.replace("\r\n", "")
    assert "1 of 2 competitions" in text
    for each in ids:
        assert f"{each}: prepared\r\n" in text
        assert re.search(rf"{each} +\w", text)
    assert "2 prepared" in text


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_at_a_terminal(tmp_path, times):
    """Typed while a preparation runs; the second time at once."""
    folder = tmp_path / "own" / "endless"
    shutil.copytree(catalog.get("spaceship-titanic").folder, folder)
    (folder / "prepare.py").write_text("import time\n\n\ndef prepare(raw, public, private):\n    time.sleep(600)\n")
    arguments = ("--competitions", tmp_path / "own", "-c", "endless", "--source", "synthetic")
    terminal = Terminal("prepare", *arguments, "--data-dir", tmp_path / "data")
    terminal.read(until=b"preparing")
    os.write(terminal.parent, b"\x03" * times)
    terminal.read()
    assert terminal.process.wait(60) == 130
    assert terminal.has_its_cursor_back()
    assert "Traceback" not in terminal.text
    if times == 1:
        assert "To go on: mlebench prepare" in terminal.text
