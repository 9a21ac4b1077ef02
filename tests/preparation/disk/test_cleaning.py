"""Removing from a data directory: garbage, what is named, nothing else; never where somebody works."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from mlebench import catalog
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError, UsageError
from mlebench.preparation.disk import usage
from mlebench.preparation.disk.cleaning import Wanted, clean
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle.records import write_record
from mlebench.preparation.locks import held
from mlebench.preparation.sources import Synthetic
from mlebench.preparation.verification import verify

TITANIC = "spaceship-titanic"
ALL = Wanted(zips=True, raw=True, partial=True, everything=True)


@pytest.fixture
def dataset(tmp_path):
    """Prepared, with raw files."""
    dataset = Dataset(catalog.get(TITANIC), tmp_path)
    prepare(dataset, Synthetic(rows=60), keep="raw")
    return dataset


def put(path, size=30_000):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def downloaded(dataset):
    path = put(dataset.home / f"{TITANIC}.zip")
    write_record(path, path, hashlib.md5(path.read_bytes()).hexdigest(), [TITANIC, ""])
    return path


def names(dataset):
    return {path.name for path in dataset.home.iterdir()} - {".lock"}


def removed(cleaning):
    return {removal.path.name for removal in cleaning.removed}


def test_garbage_goes_and_all_else_stays(dataset):
    downloaded(dataset)
    put(dataset.home / f"{TITANIC}.zip.part")
    put(dataset.home / ".fetching" / "train.csv")
    before = names(dataset)
    put(dataset.home / ".preparing-abc" / "prepared" / "public" / "train.csv")
    put(dataset.home / ".preparing-replaced-prepared-1" / "public" / "train.csv")
    free = usage(dataset.data_dir).total
    done = clean(dataset.data_dir, Wanted())
    assert removed(done) == {".preparing-abc", ".preparing-replaced-prepared-1"}
    assert names(dataset) == before
    assert done.bytes == free - usage(dataset.data_dir).total > 60_000
    assert verify(dataset) == []
    assert clean(dataset.data_dir, Wanted()).removed == []


def test_a_dry_run_changes_nothing(dataset):
    downloaded(dataset)
    put(dataset.home / ".preparing-abc" / "x")
    before = sorted(dataset.home.rglob("*"))
    wanted = Wanted(zips=True, raw=True, partial=True, prepared=[TITANIC])
    told = clean(dataset.data_dir, wanted, dry_run=True)
    assert [path for path in sorted(dataset.home.rglob("*")) if path.name != ".lock"] == before
    done = clean(dataset.data_dir, wanted)
    assert removed(done) == removed(told) == {".preparing-abc", "raw", "prepared", f"{TITANIC}.zip"}
    assert done.bytes == told.bytes
    assert names(dataset) == set()


def test_what_is_linked_is_free_with_its_last_name(tmp_path):
    plants = Dataset(catalog.get("plant-pathology-2020-fgvc7"), tmp_path)
    prepare(plants, Synthetic(rows=60), keep="raw")
    before = usage(tmp_path).total
    done = clean(tmp_path, Wanted(raw=True))
    assert done.bytes == before - usage(tmp_path).total
    assert done.bytes < usage(tmp_path).total
    assert verify(plants) == []
    assert names(plants) == {"prepared"}


def test_zips_go_if_they_came_from_kaggle_and_are_prepared(dataset, tmp_path):
    path = downloaded(dataset)
    files = put(dataset.home / f"{TITANIC}.files" / "train.csv").parent
    put(dataset.home / f"{TITANIC}.files.json", 10)
    waiting = put(tmp_path / "dog-breed-identification" / "dog-breed-identification.zip")
    write_record(waiting, waiting, "0" * 32, ["dog-breed-identification", ""])
    own = put(tmp_path / "leaf-classification" / "leaf-classification.zip")
    put(own.parent / "prepared" / "manifest.json")
    done = clean(tmp_path, Wanted(zips=True))
    assert {removal.path for removal in done.removed} == {path, files}
    assert names(dataset) == {"prepared", "raw", "raw.json"}
    assert {spared.path: spared.reason.partition(";")[0] for spared in done.spared} == {
        waiting: "nothing is prepared from it yet",
        own: "it was not downloaded by mlebench",
    }
    assert waiting.is_file()
    assert own.is_file()
    assert removed(clean(tmp_path, ALL)) == {waiting.name, own.name, "raw"}
    assert list(waiting.parent.iterdir()) == []


def test_raw_files_stay_until_something_is_prepared_from_them(tmp_path):
    raw = put(tmp_path / TITANIC / "raw" / "train.csv").parent
    assert clean(tmp_path, Wanted(raw=True)).spared[0].path == raw
    assert raw.is_dir()
    clean(tmp_path, ALL)
    assert not raw.exists()


def test_raw_files_that_are_a_link_lose_the_link_alone(dataset, tmp_path):
    mine = put(tmp_path.parent / f"{tmp_path.name}-mine" / "train.csv").parent
    clean(dataset.data_dir, Wanted(raw=True))
    dataset.raw.symlink_to(mine)
    clean(dataset.data_dir, Wanted(raw=True))
    assert not dataset.raw.exists()
    assert (mine / "train.csv").is_file()


def test_interrupted_downloads_and_extractions(dataset):
    put(dataset.home / f"{TITANIC}.zip.part")
    put(dataset.home / f"{TITANIC}.zip.part.json", 10)
    put(dataset.home / f"{TITANIC}.files" / "train.csv.part")
    put(dataset.home / ".fetching" / "train.csv")
    put(dataset.home / ".fetching.json", 10)
    done = clean(dataset.data_dir, Wanted(partial=True))
    assert removed(done) == {f"{TITANIC}.zip.part", "train.csv.part", ".fetching"}
    assert names(dataset) == {"prepared", "raw", "raw.json", f"{TITANIC}.files"}


def test_a_download_that_goes_on_is_left_alone(dataset):
    part = put(dataset.home / f"{TITANIC}.zip.part")
    with held(dataset.home / f".{TITANIC}.zip.lock", "downloading"):
        done = clean(dataset.data_dir, Wanted(partial=True))
    assert part.is_file()
    assert done.removed == []
    assert done.spared[0].reason == "another process is downloading it"


def test_prepared_data_go_only_by_name(tmp_path):
    some = [Dataset(catalog.get(name), tmp_path) for name in (TITANIC, "tweet-sentiment-extraction")]
    second = Dataset(some[1].competition.in_edition("v2"), tmp_path)
    for dataset in (*some, second):
        prepare(dataset, Synthetic(rows=60))
    done = clean(tmp_path, Wanted(prepared=["tweet-sentiment-extraction"]))
    assert removed(done) == {"prepared", "prepared-v2"}
    assert [dataset.is_prepared for dataset in (*some, second)] == [True, False, False]
    with pytest.raises(UsageError, match="nothing of leaf"):
        clean(tmp_path, Wanted(prepared=["leaf"]))


def test_only_the_competitions_that_are_named(dataset, tmp_path):
    put(tmp_path / TITANIC / ".preparing-abc" / "x")
    other = put(tmp_path / "leaf-classification" / ".preparing-abc" / "x")
    assert {removal.competition for removal in clean(tmp_path, Wanted(), [TITANIC]).removed} == {TITANIC}
    assert other.is_file()


def test_what_cannot_be_removed_is_named(dataset):
    if os.geteuid() == 0:
        pytest.skip("root may remove everything")
    dataset.raw.chmod(0o500)
    with pytest.raises(PreparationError, match="can't be removed"):
        clean(dataset.data_dir, Wanted(raw=True))


SLOW = """
import time
from pathlib import Path
def prepare(raw, public, private):
    (public / "half.csv").write_text("half" * 10_000)
    Path({marker!r}).touch()
    while not Path({go!r}).exists():
        time.sleep(0.02)
    from mlebench.preparation.files import read_csv, write_csv
    table = read_csv(raw / "train.csv")
    write_csv(table, public / "train.csv")
    write_csv(table, private / "test.csv")
    write_csv(table[["PassengerId", "Transported"]], public / "sample_submission.csv")
"""

PROGRAM = """
import sys
from pathlib import Path
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
prepare(Dataset(load_competition(Path(sys.argv[1])), Path(sys.argv[2])), Synthetic(rows=60))
"""


@pytest.fixture
def preparing(tmp_path):
    """A preparation in another process that waits until it may go on: (process, data set, the file it waits for)."""
    folder, data_dir = tmp_path / "mine", tmp_path / "data"
    shutil.copytree(catalog.get(TITANIC).folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    marker, go = tmp_path / "begun", tmp_path / "go"
    (folder / "prepare.py").write_text(SLOW.format(marker=str(marker), go=str(go)))
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, folder, data_dir])
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.02)
    yield process, Dataset(load_competition(folder), data_dir), go
    process.kill()
    process.wait()


def test_a_running_preparation_is_never_disturbed(preparing):
    process, dataset, go = preparing
    done = clean(dataset.data_dir, Wanted(True, True, True, True, ["mine"]))
    assert done.removed == []
    assert done.spared[0].reason == "another process is preparing it"
    assert usage(dataset.data_dir).competitions[0].kinds["work"] > 40_000
    go.touch()
    assert process.wait(60) == 0
    assert dataset.is_prepared
    assert verify(dataset) == []


def test_what_a_killed_preparation_left_is_removed(preparing):
    process, dataset, _ = preparing
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert any(name.startswith(".preparing-") for name in names(dataset))
    done = clean(dataset.data_dir, Wanted())
    assert done.bytes > 40_000
    assert not any(name.startswith(".preparing-") for name in names(dataset))


def test_a_preparation_killed_in_its_last_step_is_finished(dataset):
    """What is whole is no garbage: it is put in its place."""
    work = dataset.home / ".preparing-abc"
    work.mkdir()
    dataset.prepared.rename(work / "prepared")
    plan = {"made": ".preparing-abc/prepared", "target": "prepared", "raw": "", "discards": False}
    (dataset.home / ".finishing.json").write_text(json.dumps(plan))
    clean(dataset.data_dir, Wanted())
    assert verify(dataset) == []
    assert names(dataset) == {"prepared", "raw", "raw.json"}
