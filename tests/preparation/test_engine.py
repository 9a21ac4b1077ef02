"""Preparing whole or not at all, from synthetic, folder and zip; linking; verifying."""

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mlebench import catalog
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, PreparationError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local, Synthetic, find_source
from mlebench.preparation.verification import verify

TITANIC = "spaceship-titanic"


@pytest.fixture
def dataset(tmp_path):
    return Dataset(catalog.get(TITANIC), tmp_path / "data")


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    Synthetic().fetch(catalog.get(TITANIC), folder)
    return folder


def test_a_second_call_does_nothing(dataset):
    assert prepare(dataset, Synthetic())
    before = dataset.manifest_path.stat().st_mtime_ns
    assert not prepare(dataset, Synthetic())
    assert dataset.manifest_path.stat().st_mtime_ns == before
    assert prepare(dataset, Synthetic(), force=True)
    assert dataset.manifest_path.stat().st_mtime_ns != before


def test_manifest_tells_where_the_data_are_from(dataset):
    prepare(dataset, Synthetic(rows=50, seed=3))
    manifest = dataset.manifest()
    assert manifest["source"] == "synthetic"
    assert (manifest["rows"], manifest["seed"]) == (50, 3)
    assert set(manifest["files"]) == {
        *(f"public/{name}" for name in ("train.csv", "test.csv", "sample_submission.csv", "description.md")),
        "private/test.csv",
    }
    assert 0 < manifest["sample_score"] < 1


@pytest.mark.parametrize("nested", [False, True], ids=["itself", "under its id"])
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_local_folders_and_zips(dataset, raw, tmp_path, packed, nested):
    source = raw
    if packed:
        source = tmp_path / "in" / f"{TITANIC}.zip"
        source.parent.mkdir()
        with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in raw.iterdir():
                archive.write(path, path.name)
    elif nested:
        (tmp_path / "in").mkdir()
        source = raw.rename(tmp_path / "in" / TITANIC)
    before = sorted((path, path.stat().st_mtime_ns, path.stat().st_mode) for path in source.parent.rglob("*"))
    prepare(dataset, Local(source.parent if nested else source))
    assert dataset.source == "local"
    assert verify_ours(dataset) == []
    assert not dataset.raw.exists()
    after = sorted((path, path.stat().st_mtime_ns, path.stat().st_mode) for path in source.parent.rglob("*"))
    assert [
        entry for entry in after if dataset.data_dir not in entry[0].parents and entry[0] != dataset.data_dir
    ] == before


def verify_ours(dataset):
    return [mismatch for mismatch in verify(dataset) if not mismatch.expected.startswith("md5")]


def test_keeping_raw(dataset, raw):
    prepare(dataset, Local(raw), keep="raw")
    assert (dataset.raw / "train.csv").read_bytes() == (raw / "train.csv").read_bytes()


def test_raw_files_kept_from_an_earlier_time_stay(dataset, raw):
    dataset.home.mkdir(parents=True)
    raw.rename(dataset.raw)
    prepare(dataset, Local(dataset.raw), keep="raw")
    assert (dataset.raw / "train.csv").is_file()
    assert not (dataset.raw / "train.csv").is_symlink()


def test_another_source_needs_force(dataset, raw):
    prepare(dataset, Synthetic())
    with pytest.raises(PreparationError, match="--force"):
        prepare(dataset, Local(raw))
    prepare(dataset, Local(raw), force=True)
    assert dataset.source == "local"


@pytest.mark.parametrize("damage", ["missing", "column", "rows", "no zip", "cut zip"])
def test_what_fails_leaves_nothing(dataset, raw, tmp_path, damage):
    source = raw
    if damage == "missing":
        (raw / "train.csv").unlink()
    elif damage == "column":
        (raw / "train.csv").write_text("a,b\n" + "1,2\n" * 20)
    elif damage == "rows":
        (raw / "train.csv").write_text("PassengerId,Transported\n1,True\n")
    else:
        source = tmp_path / "source.zip"
        with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(raw / "train.csv", "train.csv")
        content = source.read_bytes()
        source.write_bytes(b"no zip" if damage == "no zip" else content[: len(content) // 2])
    with pytest.raises(PreparationError) as caught:
        prepare(dataset, Local(source))
    assert "Traceback" not in str(caught.value)
    assert not dataset.is_prepared
    assert list(dataset.home.iterdir()) == []


def test_a_faulty_competition_is_named_as_such(tmp_path):
    folder = tmp_path / "mine"
    copy_competition(folder)
    (folder / "prepare.py").write_text("def prepare(raw, public, private):\n    1 / 0\n")
    with pytest.raises(CompetitionError, match="ZeroDivisionError"):
        prepare(Dataset(load_competition(folder), tmp_path / "data"), Synthetic())


def copy_competition(folder: Path):
    import shutil

    shutil.copytree(catalog.get(TITANIC).folder, folder, ignore=shutil.ignore_patterns("__pycache__"))


def test_a_killed_preparation_leaves_nothing_that_looks_prepared(tmp_path):
    folder = tmp_path / "mine"
    copy_competition(folder)
    marker = tmp_path / "reached"
    (folder / "prepare.py").write_text(
        "import time\nfrom pathlib import Path\n"
        "def prepare(raw, public, private):\n"
        f"    (public / 'half.csv').write_text('half'); Path({str(marker)!r}).touch(); time.sleep(60)\n"
    )
    program = (
        "from pathlib import Path; from mlebench.competition import load_competition\n"
        "from mlebench.dataset import Dataset; from mlebench.preparation.engine import prepare\n"
        "from mlebench.preparation.sources import Synthetic\n"
        f"prepare(Dataset(load_competition(Path({str(folder)!r})), Path({str(tmp_path / 'data')!r})), Synthetic())"
    )
    child = subprocess.Popen([sys.executable, "-c", program])
    while not marker.exists():
        assert child.poll() is None
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    copy = Dataset(load_competition(folder), tmp_path / "data")
    assert not copy.is_prepared
    assert not copy.prepared.exists()
    (folder / "prepare.py").write_text((catalog.get(TITANIC).folder / "prepare.py").read_text())
    from mlebench import competition

    competition._MODULES.clear()
    assert prepare(copy, Synthetic())
    assert {path.name for path in copy.home.iterdir()} == {"prepared"}


def test_processes_do_not_hurt_each_other(tmp_path):
    program = (
        "from pathlib import Path; from mlebench import catalog; from mlebench.dataset import Dataset\n"
        "from mlebench.preparation.engine import prepare; from mlebench.preparation.sources import Synthetic\n"
        f"print(prepare(Dataset(catalog.get({TITANIC!r}), Path({str(tmp_path)!r})), Synthetic()))"
    )
    children = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    made = [child.communicate(timeout=60)[0].strip() for child in children]
    assert sorted(made) == ["False", "False", "True"]
    assert verify(Dataset(catalog.get(TITANIC), tmp_path)) == []


def test_verify_names_what_changed(dataset):
    prepare(dataset, Synthetic())
    assert verify(dataset) == []
    with (dataset.public / "train.csv").open("a") as file:
        file.write("x")
    (dataset.public / "test.csv").unlink()
    (dataset.private / "extra.txt").write_text("x")
    found = {mismatch.path: mismatch.found for mismatch in verify(dataset)}
    assert set(found) == {"public/train.csv", "public/test.csv", "private/extra.txt"}
    assert found["public/test.csv"] == ""


def test_published_checksums_are_compared_for_real_sources(dataset, raw):
    prepare(dataset, Local(raw))
    published = [m.path for m in verify(dataset) if m.expected.startswith("md5")]
    assert sorted(published) == sorted(path for path in dataset.competition.checksums if path != "zip")


def test_published_checksums_are_those_of_edition_v1(tmp_path):
    patents = catalog.get("us-patent-phrase-to-phrase-matching")
    patents.make_raw(tmp_path, np.random.default_rng(0), 50)
    dataset = Dataset(patents.in_edition("v2"), tmp_path / "data")
    prepare(dataset, Local(tmp_path))
    assert verify(dataset) == []


def test_sources_by_name(tmp_path):
    assert isinstance(find_source("synthetic"), Synthetic)
    assert isinstance(find_source(str(tmp_path)), Local)
    assert isinstance(find_source("mlebench.preparation.sources:Synthetic"), Synthetic)
    with pytest.raises(UsageError, match="no such folder"):
        find_source(str(tmp_path / "nowhere"))


REAL_DATA = Path(os.environ.get("MLEBENCH_REAL_DATA", "no folder"))
REAL = sorted({path.name for path in REAL_DATA.glob("*")} & set(catalog.competitions()))


@pytest.mark.skipif(not REAL, reason="MLEBENCH_REAL_DATA names no folder of real raw data")
@pytest.mark.parametrize("competition_id", REAL or ["none"])
def test_real_data_reproduce_the_published_checksums(competition_id, tmp_path):
    competition = catalog.get(competition_id)
    real = Dataset(competition, tmp_path)
    prepare(real, Local(REAL_DATA / competition_id))
    assert competition.checksums
    assert verify(real) == []


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_no_fact_of_a_test_file_tells_its_label(tmp_path, packed):
    """The folders of this competition's raw files are the labels, and they are written one after the other."""
    competition = catalog.get("herbarium-2021-fgvc8")
    raw = tmp_path / "raw"
    raw.mkdir()
    Synthetic(rows=400).fetch(competition, raw)
    files = sorted(path for path in raw.rglob("*") if path.is_file())
    for number, path in enumerate(files):
        copy = path.with_name(f"{path.name}.new")  # in the order of the labels, one after the other
        shutil.copyfile(path, copy)
        os.utime(copy, (1e9 + number, 1e9 + number))
        copy.replace(path)
    places = {path.read_bytes(): place for place, path in enumerate(files)}
    source = raw
    if packed:
        source = tmp_path / "raw.zip"
        with zipfile.ZipFile(source, "w") as archive:
            for path in files:
                archive.write(path, path.relative_to(raw))
    dataset = Dataset(competition, tmp_path / "data")
    prepare(dataset, Local(source))
    pictures = list((dataset.public / "test").rglob("*.jpg"))
    assert len({path.stat().st_mtime_ns for path in pictures}) == 1
    assert all(path.stat().st_nlink == 1 for path in pictures)
    for fact in ("st_ino", "st_ctime_ns"):
        found = [(getattr(path.stat(), fact), places[path.read_bytes()]) for path in pictures]
        assert abs(np.corrcoef(np.array(found, dtype=float).T)[0, 1]) < 0.6, fact
