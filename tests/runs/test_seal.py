"""What an agent leaves is sealed, whatever it is: else a bad attempt could be turned into one that doesn't count."""

import json
import os
import shutil

import pytest

from mlebench.runs.seal import LARGE, tree_digest
from mlebench.runs.store import AttemptFolder
from mlebench.runs.verification import verify_run

COPY = "shutil.copy(DATA + '/sample_submission.csv', OUT)\n"
DEEP = """
os.chdir(os.environ["LOGS_DIR"])
for _ in range(60):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
"""
HOLES = """
for number in range(2000):
    with open(f"{os.environ['LOGS_DIR']}/{number}", "wb") as file:
        file.truncate(512 << 20)
"""
ODD_NAMES = """
for name in (b"\\xff\\xfe", b"new\\nline", b"-rf", b"x" * 255, b"\\xed\\xa0\\x80"):
    open(os.environ["CODE_DIR"].encode() + b"/" + name, "w").close()
os.mkfifo(os.environ["LOGS_DIR"] + "/pipe")
os.symlink("loop", os.environ["LOGS_DIR"] + "/loop")
os.chmod(os.environ["LOGS_DIR"], 0)
"""


@pytest.mark.parametrize(("program", "end"), [(DEEP, "disk-full"), (HOLES, "completed"), (ODD_NAMES, "completed")])
def test_an_attempt_counts_whatever_it_left(agent, run, program, end):
    folder = run(agent(COPY + program), disk_bytes=1 << 30)
    attempt = AttemptFolder(folder, "spaceship-titanic", 0)
    assert attempt.state().end == end
    assert json.loads(attempt.grade_path.read_text())["valid_submission"]
    assert verify_run(folder, data=False).problems == []


def test_deep_folders_have_a_digest_that_does_not_depend_on_the_place(tmp_path):
    here, there = tmp_path / "a", tmp_path / ("b" * 200)
    for top in (here, there):
        top.mkdir()
        at = os.open(top, os.O_RDONLY)
        for _ in range(40):
            os.mkdir("d" * 200, dir_fd=at)
            at, before = os.open("d" * 200, os.O_RDONLY, dir_fd=at), at
            os.close(before)
        os.close(at)
    assert tree_digest(here) == tree_digest(there)
    (here / ("d" * 200) / "file").touch()
    assert tree_digest(here) != tree_digest(there)


def test_large_files_are_read_but_for_their_holes(tmp_path):
    folder, copy = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    with (folder / "file").open("wb") as file:
        file.truncate(2 * LARGE)
        file.seek(LARGE + 12345)
        file.write(b"here")
    copy.mkdir()
    with (folder / "file").open("rb") as source, (copy / "file").open("wb") as target:
        shutil.copyfileobj(source, target)  # without holes
    before = tree_digest(folder)
    assert (copy / "file").stat().st_blocks > (folder / "file").stat().st_blocks
    assert tree_digest(copy) == before
    for place in (0, LARGE + 12345, 2 * LARGE - 1):
        with (copy / "file").open("r+b") as file:
            file.seek(place)
            file.write(b"x")
        assert tree_digest(copy) != before
        with (copy / "file").open("r+b") as file:
            file.seek(place)
            file.write(b"h" if place == LARGE + 12345 else b"\0")
        assert tree_digest(copy) == before
    os.truncate(copy / "file", 2 * LARGE - 1)
    assert tree_digest(copy) != before
