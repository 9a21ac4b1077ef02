"""`mlebench data du` and `mlebench data clean`."""

import json
import os
import shutil

import pytest

TITANIC, PLANTS = "spaceship-titanic", "plant-pathology-2020-fgvc7"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    from mlebench import catalog
    from mlebench.dataset import Dataset
    from mlebench.preparation.engine import prepare
    from mlebench.preparation.sources import Synthetic

    data_dir = tmp_path_factory.mktemp("prepared")
    for competition_id in (TITANIC, PLANTS):
        prepare(Dataset(catalog.get(competition_id), data_dir), Synthetic(rows=60), keep="raw")
    return data_dir


@pytest.fixture
def data_dir(prepared, tmp_path):
    """A copy, with what a killed preparation and a user left in it."""
    data_dir = tmp_path / "data"
    shutil.copytree(prepared, data_dir)
    (data_dir / TITANIC / ".preparing-abc").mkdir()
    (data_dir / TITANIC / ".preparing-abc" / "half").write_bytes(os.urandom(90_000))
    (data_dir / TITANIC / f"{TITANIC}.zip").write_bytes(os.urandom(50_000))
    return data_dir


def test_du_says_what_is_there(mlebench, data_dir):
    lines = mlebench("data", "du", "--data-dir", data_dir).stdout.splitlines()
    assert PLANTS in lines[0]
    assert "kB" in lines[0]
    assert all(kind in lines[1] for kind in (TITANIC, "prepared", "raw", "zip ", "work 9"))
    assert "in all: prepared" in lines[3]
    assert any("free on the disk" in line for line in lines)
    assert '"mlebench data clean"' in lines[-1]


def test_du_for_programs(mlebench, data_dir):
    found = json.loads(mlebench("data", "du", "--json", "--data-dir", data_dir).stdout)
    assert [use["competition"] for use in found["competitions"]] == [PLANTS, TITANIC]
    assert found["total"] == sum(use["total"] for use in found["competitions"])
    assert found["kinds"]["work"] >= 90_000
    assert found["saved_by_links"] == 0  # the copy has none
    assert found["free"] > 0
    one = json.loads(mlebench("data", "du", "--json", "-c", TITANIC, "--data-dir", data_dir).stdout)
    assert one["competitions"] == found["competitions"][1:]


def test_du_looks_whether_all_is_there(mlebench, data_dir):
    said = mlebench("data", "du", "--check", "--data-dir", data_dir)
    assert "all files of 2 prepared data sets are there" in said.stdout
    (data_dir / TITANIC / "prepared" / "public" / "train.csv").write_text("cut")
    (data_dir / PLANTS / "prepared" / "public" / "train.csv").unlink()
    said = mlebench("data", "du", "--check", "--data-dir", data_dir, code=1).stderr
    assert f"{TITANIC}/prepared/public/train.csv: expected " in said
    assert f"{PLANTS}/prepared/public/train.csv: expected " in said
    assert "found 3 bytes" in said
    assert "found no file" in said
    found = json.loads(mlebench("data", "du", "--check", "--json", "--data-dir", data_dir, code=1).stdout)
    assert [each["kind"] for each in found["mismatches"][f"{TITANIC}/prepared"]] == ["cut"]
    (data_dir / TITANIC / "prepared" / "manifest.json").write_text("{")
    said = mlebench("data", "du", "--check", "--data-dir", data_dir, code=1).stderr
    assert f"{TITANIC}/prepared/manifest.json: expected one of this version, found another" in said
    assert "is damaged" in said
    assert f"{PLANTS}/prepared/public/train.csv: expected " in said


def test_links_are_told(mlebench, prepared):
    assert "saved by links" in mlebench("data", "du", "--data-dir", prepared).stdout


def test_nothing_to_tell(mlebench, tmp_path):
    assert "no data" in mlebench("data", "du", "--data-dir", tmp_path).stdout
    assert "there is no data directory" in mlebench("data", "du", "--data-dir", tmp_path / "no", code=2).output
    assert "nothing to remove" in mlebench("data", "clean", "--data-dir", tmp_path).stdout


def test_clean(mlebench, data_dir):
    told = mlebench("data", "clean", "--dry-run", "--data-dir", data_dir).stdout
    assert "would be freed" in told
    assert (data_dir / TITANIC / ".preparing-abc").is_dir()
    done = mlebench("data", "clean", "--data-dir", data_dir).stdout
    assert f"{TITANIC}/.preparing-abc" in done
    assert done.splitlines()[-1].endswith(" freed")
    assert sorted(path.name for path in (data_dir / TITANIC).iterdir() if not path.name.startswith(".")) == [
        "prepared",
        "raw",
        "raw.json",
        f"{TITANIC}.zip",
    ]


def test_a_users_zip_stays_and_that_is_said(mlebench, data_dir):
    done = mlebench("data", "clean", "--zips", "--raw", "--data-dir", data_dir).stdout
    assert f"{TITANIC}/{TITANIC}.zip stays: it was not downloaded by mlebench; --all removes it" in done
    assert (data_dir / TITANIC / f"{TITANIC}.zip").is_file()
    told = json.loads(mlebench("data", "clean", "--zips", "--all", "--json", "--data-dir", data_dir).stdout)
    assert told["freed"] >= 50_000
    assert [removal["kind"] for removal in told["removed"]] == ["zip"]
    assert not (data_dir / TITANIC / f"{TITANIC}.zip").exists()


def test_all_says_of_what(mlebench, data_dir):
    assert "goes with --zips or --raw" in mlebench("data", "clean", "--all", "--data-dir", data_dir, code=2).output


def test_prepared_files_go_by_name(mlebench, data_dir):
    mlebench("data", "clean", "--prepared", PLANTS, "--data-dir", data_dir)
    assert not (data_dir / PLANTS / "prepared").exists()
    assert (data_dir / TITANIC / "prepared" / "manifest.json").is_file()


def test_a_mismatch_is_explained_by_prepare(mlebench, data_dir):
    (data_dir / TITANIC / "prepared" / "public" / "train.csv").write_bytes(b"")
    arguments = ("prepare", "-c", TITANIC, "--source", "synthetic", "--verify", "--data-dir", data_dir)
    output = mlebench(*arguments, code=1).output
    assert "-> the disk was full" in output
    assert "To go on" not in output
    anew = f"mlebench prepare --force --source synthetic --verify --data-dir {data_dir} -c {TITANIC}"
    assert f"To prepare anew what was damaged: {anew}" in output
    (told,) = json.loads(mlebench(*arguments, "--json", code=1).stdout)
    (mismatch,) = told["mismatches"]
    assert (mismatch["path"], mismatch["kind"], mismatch["found_size"]) == ("public/train.csv", "empty", 0)
