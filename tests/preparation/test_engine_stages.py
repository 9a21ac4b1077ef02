"""Interrupted stages are gone on with; what is kept, what goes; a full disk; identical files stored once."""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mlebench import catalog
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle import records
from mlebench.preparation.sources import Local, Synthetic, find_source
from mlebench.preparation.verification import verify

TITANIC = "spaceship-titanic"
COMPETITION = dataclasses.replace(catalog.get(TITANIC), checksums={})  # no published files that twins are unlike

PICTURES = """
from pathlib import Path
import os, signal
from mlebench.preparation.files import hold_out, link_folder, link_file, read_csv, write_csv

def divide(raw, public, private):
    train, test = hold_out(read_csv(raw / "train.csv"), 0.1)
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="Transported"), public / "test.csv")
    write_csv(test[["PassengerId"]].assign(Transported=False), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")

def place(pictures, folder):
    folder.mkdir(parents=True)
    for picture in pictures:
        link_file(picture, folder / picture.name)

"""


def own(tmp_path, code, facts=""):
    """A competition like the twin, whose `prepare.py` ends with `code`."""
    folder = tmp_path / "competitions" / "rivers"
    shutil.copytree(catalog.get(TITANIC).folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "prepare.py").write_text(PICTURES + code)
    text = (folder / "competition.toml").read_text().partition("[checksums]")[0]
    (folder / "competition.toml").write_text(text + facts)
    return load_competition(folder)


def raw_files(folder, pictures=0):
    """Raw files of the twin, with pictures that can't be packed."""
    (folder / "pictures").mkdir(parents=True)
    Synthetic(rows=40).fetch(catalog.get(TITANIC), folder)
    for number in range(pictures):
        content = hashlib.shake_128(bytes([number])).digest(40_000)
        (folder / "pictures" / f"{number}.png").write_bytes(content)
    return folder


def pack(folder, archive):
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            opened.write(file, file.relative_to(folder))
    return archive


def names(folder):
    return sorted(path.name for path in folder.iterdir())


PROGRAM = """
import sys
from pathlib import Path
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local
prepare(Dataset(load_competition(Path(sys.argv[1])), Path(sys.argv[2])), Local(Path(sys.argv[3])))
"""
KILLED_ONCE = """
def prepare(raw, public, private):
    marker = Path(__file__).with_name("killed")
    (public / "half.csv").write_text("half")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (public / "half.csv").unlink()
    divide(raw, public, private)
"""


@pytest.fixture
def killed(tmp_path):
    """A preparation from a zip that was killed in `prepare.py`: its data set and the zip."""
    competition = own(tmp_path, KILLED_ONCE)
    archive = pack(raw_files(tmp_path / "raw"), tmp_path / "any.zip")
    program = [sys.executable, "-c", PROGRAM, str(competition.folder), str(tmp_path / "data"), str(archive)]
    assert subprocess.run(program, check=False).returncode == -signal.SIGKILL
    dataset = Dataset(competition, tmp_path / "data")
    assert not dataset.prepared.exists()
    assert (dataset.home / ".fetching").is_dir()
    return dataset, archive


def change(archive, content):
    """Give a file other bytes, but not another size or time."""
    facts = archive.stat()
    assert len(content) == facts.st_size
    archive.write_bytes(content)
    os.utime(archive, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def test_who_was_killed_while_preparing_does_not_unpack_again(killed):
    dataset, archive = killed
    change(archive, b"x" * archive.stat().st_size)  # nobody reads it
    prepare(dataset, Local(archive), keep="raw")
    assert verify(dataset) == []
    assert {"prepared", "raw"} <= set(names(dataset.home)) <= {"prepared", "raw", "raw.json"}


def test_another_archive_is_unpacked_anew(killed, tmp_path):
    dataset, archive = killed
    shutil.rmtree(tmp_path / "raw")
    raw_files(tmp_path / "raw")
    (tmp_path / "raw" / "more.txt").write_text("more")
    (tmp_path / "raw" / "test.csv").unlink()
    pack(tmp_path / "raw", archive)
    prepare(dataset, Local(archive), keep="raw")
    assert set(names(dataset.raw)) >= {"more.txt", "train.csv"}
    assert "test.csv" not in names(dataset.raw)


def test_after_a_crash_of_the_machine_raw_files_are_compared_with_the_archive(killed, tmp_path):
    """Names may be on the disk whose contents never got there."""
    dataset, archive = killed
    record = dataset.home / ".fetching.json"
    facts = json.loads(record.read_text())
    record.write_text(json.dumps(facts | {"whole": "another start of the machine"}))
    (dataset.home / ".fetching" / "train.csv").write_bytes(b"")
    (dataset.home / ".fetching" / ".unpacked").mkdir()
    prepare(dataset, Local(archive), keep="raw")
    assert (dataset.raw / "train.csv").read_bytes() == (tmp_path / "raw" / "train.csv").read_bytes()
    assert not (dataset.raw / ".unpacked").exists()


def test_killed_at_random_moments_the_result_is_the_same(tmp_path):
    program = f"""
import os, random, signal, sys, time
sys.argv[1:] = {[str(tmp_path)]!r}
from pathlib import Path
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.grading import score_valid
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local

top = Path(sys.argv[1])
def run(data):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            prepare(Dataset(load_competition(top / "competitions" / "rivers"), top / data), Local(top / "any.zip"))
            code = 0
        finally:
            os._exit(code)
    return pid

started = time.monotonic()
assert os.waitpid(run("once"), 0)[1] == 0
seconds = time.monotonic() - started
chance = random.Random(0)
kills = 0
while kills < 20:
    pid = run("often")
    time.sleep(chance.uniform(0, seconds * 0.9))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    kills += 1
assert os.waitpid(run("often"), 0)[1] == 0
"""
    competition = own(
        tmp_path,
        "def prepare(raw, public, private):\n    divide(raw, public, private)\n"
        "    link_folder(raw / 'pictures', public / 'pictures')\n",
    )
    pack(raw_files(tmp_path / "raw", pictures=250), tmp_path / "any.zip")
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-4000:]
    once, often = (Dataset(competition, tmp_path / name) for name in ("once", "often"))
    assert often.manifest()["files"] == once.manifest()["files"]
    assert verify(often) == []
    assert names(often.home) == ["prepared"]


@pytest.fixture
def downloaded(tmp_path):
    """A data directory with a zip that was downloaded, and its path."""
    home = tmp_path / "data" / TITANIC
    home.mkdir(parents=True)
    archive = pack(raw_files(tmp_path / "raw", pictures=2), home / f"{TITANIC}.zip")
    records.write_record(archive, archive, hashlib.md5(archive.read_bytes()).hexdigest(), [TITANIC, ""])
    return tmp_path / "data", archive


@pytest.mark.parametrize("keep", ["nothing", "zip", "raw"])
def test_what_is_kept_of_a_download(downloaded, keep, tmp_path):
    data, archive = downloaded
    dataset = Dataset(COMPETITION, data)
    prepare(dataset, find_source("kaggle", data_dir=data), keep=keep)
    assert archive.exists() == (keep == "zip")
    assert archive.with_name(f"{archive.name}.json").exists() == (keep == "zip")
    assert dataset.raw.exists() == (keep == "raw")
    if keep == "raw":
        assert (dataset.raw / "pictures" / "1.png").read_bytes() == (tmp_path / "raw/pictures/1.png").read_bytes()
    assert not list(dataset.home.glob(".[fp]*ing*"))
    assert "unlike_published" not in dataset.manifest()


def test_a_zip_of_the_users_stays(downloaded):
    data, archive = downloaded
    archive.with_name(f"{archive.name}.json").unlink()
    prepare(Dataset(COMPETITION, data), find_source("kaggle", data_dir=data))
    assert archive.exists()


def test_a_download_stays_if_the_files_are_not_the_published_ones(downloaded):
    data, archive = downloaded
    dataset = Dataset(catalog.get(TITANIC), data)
    prepare(dataset, find_source("kaggle", data_dir=data))
    assert archive.exists()
    assert "public/train.csv" in dataset.manifest()["unlike_published"]


def test_kept_raw_files_are_as_kaggle_ships_them(tmp_path):
    """Inner archives are unpacked beside them on the way."""
    competition = dataclasses.replace(catalog.get("spooky-author-identification"), checksums={})
    raw = tmp_path / "in"
    raw.mkdir()
    Synthetic(rows=40).fetch(competition, raw)
    assert "train.zip" in names(raw)
    dataset = Dataset(competition, tmp_path / "data")
    prepare(dataset, Local(pack(raw, tmp_path / "any.zip")), keep="raw")
    assert names(dataset.raw) == names(raw)


def test_prepared_files_are_links_to_raw_ones_and_outlive_them(tmp_path):
    competition = own(
        tmp_path,
        "def prepare(raw, public, private):\n    divide(raw, public, private)\n"
        "    link_folder(raw / 'pictures', public / 'pictures')\n",
    )
    archive = pack(raw_files(tmp_path / "raw", pictures=2), tmp_path / "any.zip")
    dataset = Dataset(competition, tmp_path / "data")
    prepare(dataset, Local(archive), keep="raw")
    picture = dataset.public / "pictures" / "1.png"
    assert picture.samefile(dataset.raw / "pictures" / "1.png") or clones(tmp_path)
    shutil.rmtree(dataset.raw)
    assert verify(dataset) == []
    assert picture.stat().st_nlink == 1
    assert os.access(dataset.public, os.W_OK)


def clones(folder):
    """Whether the file system shares blocks between files: then there are no links."""
    (folder / "original").write_text("x")
    command = ["cp", "--reflink=always", str(folder / "original"), str(folder / "clone")]
    return not subprocess.run(command, check=False, capture_output=True).returncode


ONCE = """
def prepare(raw, public, private):
    divide(raw, public, private)
    pictures = sorted((raw / "pictures").iterdir())
    place(pictures[:4], public / "train")
    place(pictures[:4], public / "copies")
    place(pictures[2:6], public / "test")
    place(pictures[6:7], private / "pictures")

def prepare_v2(raw, public, private):
    divide(raw, public, private)
    pictures = sorted((raw / "pictures").iterdir())
    place(pictures[:2], public / "test")
    place(pictures[4:6], public / "train")
"""


def inodes(folder):
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def test_identical_files_of_one_kind_are_stored_once(tmp_path):
    competition = own(tmp_path, ONCE, "[v2]\n")
    raw = raw_files(tmp_path / "raw", pictures=6)
    for number in range(6):  # the raw files themselves are stored twice
        shutil.copyfile(raw / "pictures" / "0.png", raw / "pictures" / f"0_{number}.png")
    first, second = (Dataset(competition.in_edition(edition), tmp_path / "data") for edition in ("v1", "v2"))
    for dataset in (first, second):
        prepare(dataset, Local(raw))
        assert verify(dataset) == []
    train, copies, test = (inodes(first.public / name) for name in ("train", "copies", "test"))
    assert len(set(train.values())) == 1
    assert train == copies
    assert not set(train.values()) & set(test.values())  # a test file's number tells nothing
    assert not set(train.values()) & set(inodes(first.private / "pictures").values())
    later = inodes(second.public / "test")
    assert len(set(later.values())) == 1
    assert set(later.values()) <= set(test.values())  # test files of one edition are those of the other
    assert not set(later.values()) & set(train.values())  # its training files are not
    assert set(inodes(raw / "pictures").values()).isdisjoint(test.values())


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if not mount or os.geteuid() or subprocess.run([mount, *options], check=False, capture_output=True).returncode:
        pytest.skip("a small disk can't be mounted here: that takes root")
    try:
        yield lambda size: subprocess.run([mount, "-o", f"remount,size={size}", str(folder)], check=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("room", [4, 256, 1500, 2070], ids=["nothing", "lock", "unpacking", "preparing"])
def test_a_full_disk_is_named_and_breaks_nothing(tmp_path, room):
    competition = own(
        tmp_path,
        "def prepare(raw, public, private):\n    divide(raw, public, private)\n"
        "    (public / 'large.bin').write_bytes(b'x' * 1_000_000)\n"
        "    link_folder(raw / 'pictures', public / 'pictures')\n",
    )
    archive = pack(raw_files(tmp_path / "raw", pictures=50), tmp_path / "any.zip")
    whole = Dataset(competition, tmp_path / "whole")
    prepare(whole, Local(archive))
    with small_disk(tmp_path / "small", f"{room}k") as resize:
        dataset = Dataset(competition, tmp_path / "small" / "data")
        with pytest.raises(PreparationError, match=r"is full|bytes, .* free") as caught:
            prepare(dataset, Local(archive))
        assert "Traceback" not in str(caught.value)
        assert not dataset.prepared.exists()
        resize("8m")
        prepare(dataset, Local(archive))
        assert dataset.manifest()["files"] == whole.manifest()["files"]
        assert names(dataset.home) == ["prepared"]


def test_two_at_once_of_which_one_is_killed(tmp_path):
    """The other one, which waits, takes over at once."""
    competition = own(
        tmp_path, KILLED_ONCE.replace("os.kill(os.getpid(), signal.SIGKILL)", "import time; time.sleep(600)")
    )
    archive = pack(raw_files(tmp_path / "raw"), tmp_path / "any.zip")
    program = [sys.executable, "-c", PROGRAM, str(competition.folder), str(tmp_path / "data"), str(archive)]
    with subprocess.Popen(program) as first:
        while not (competition.folder / "killed").exists():
            assert first.poll() is None
        with subprocess.Popen(program) as second:
            first.kill()
            first.wait()  # else it stays as a zombie, which lives for others
            assert second.wait() == 0
    dataset = Dataset(competition, tmp_path / "data")
    assert verify(dataset) == []
    assert names(dataset.home) == ["prepared"]
    assert Path(archive).exists()
