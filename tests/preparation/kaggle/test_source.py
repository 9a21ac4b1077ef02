"""`mlebench prepare --source kaggle`, from the network to prepared files."""

import hashlib
import json
import os
import time
import zipfile

import pytest

from kaggle_stand_in import Fault, zip_of_twin
from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle.errors import RulesNotAccepted
from mlebench.preparation.kaggle.source import Kaggle
from mlebench.preparation.progress import shown_on
from mlebench.preparation.sources import Downloading, Resumable, find_source
from mlebench.preparation.verification import verify

TITANIC = "spaceship-titanic"


@pytest.fixture
def twin(tmp_path):
    return zip_of_twin(TITANIC, tmp_path / "twin", rows=300)


@pytest.fixture
def account(kaggle, monkeypatch):
    """The environment of a user with an account."""
    monkeypatch.setenv("MLEBENCH_KAGGLE_URL", kaggle.url)
    monkeypatch.setenv("KAGGLE_API_TOKEN", kaggle.credentials.secret)


@pytest.fixture
def dataset(tmp_path):
    return Dataset(catalog.get(TITANIC), tmp_path / "data")


def test_prepared_as_from_the_same_zip_given_by_hand(kaggle, account, twin, tmp_path, mlebench):
    kaggle.add(TITANIC, twin.read_bytes())
    mlebench("prepare", "-c", TITANIC, "--source", "kaggle", "--data-dir", tmp_path / "a", "--json")
    mlebench("prepare", "-c", TITANIC, "--source", twin, "--data-dir", tmp_path / "b", "--json")
    ours, theirs = (Dataset(catalog.get(TITANIC), tmp_path / name) for name in "ab")
    assert ours.manifest()["files"] == theirs.manifest()["files"]
    assert len(ours.manifest()["files"]) == 5
    assert ours.source == "kaggle"
    facts = ours.manifest()["zip"]
    assert facts["md5"] == hashlib.md5(twin.read_bytes()).hexdigest()
    assert facts["size"] == twin.stat().st_size
    assert facts["modified"].endswith("+00:00")


def test_it_is_the_default(kaggle, account, twin, tmp_path, mlebench):
    kaggle.add(TITANIC, twin.read_bytes())
    result = mlebench("prepare", "-c", TITANIC, "--data-dir", tmp_path / "data", "--json")
    assert json.loads(result.stdout)[0]["source"] == "kaggle"


def test_a_zip_that_is_there_needs_neither_network_nor_account(dataset, twin):
    dataset.home.mkdir(parents=True)
    (dataset.home / f"{TITANIC}.zip").write_bytes(twin.read_bytes())
    assert prepare(dataset, Kaggle(dataset.data_dir))
    assert dataset.manifest()["zip"]["size"] == twin.stat().st_size
    assert verify(dataset) == [] or dataset.competition.checksums


def test_preparing_again_from_a_kept_zip_downloads_nothing(kaggle, account, twin, dataset):
    kaggle.add(TITANIC, twin.read_bytes())
    prepare(dataset, Kaggle(dataset.data_dir), keep="zip")
    assert (dataset.home / f"{TITANIC}.zip").read_bytes() == twin.read_bytes()
    asked = len(kaggle.requests)
    assert prepare(dataset, Kaggle(dataset.data_dir), keep="zip", force=True)
    assert len(kaggle.requests) == asked


@pytest.fixture
def source(dataset):
    return Kaggle(dataset.data_dir)


@pytest.fixture
def here(dataset):
    """Where the zip lies."""
    dataset.home.mkdir(parents=True, exist_ok=True)
    return dataset.home / f"{TITANIC}.zip"


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name[0] != ".")


def test_it_fulfils_the_protocols(source):
    assert isinstance(source, Downloading)
    assert isinstance(source, Resumable)


def test_what_is_downloaded_is_known_and_discarded(kaggle, account, twin, source, dataset, here):
    content = twin.read_bytes()
    kaggle.add(TITANIC, content)
    source.obtain(dataset.competition)
    record = json.loads(here.with_name(f"{here.name}.json").read_text())
    assert record.pop("downloaded").endswith("+00:00")
    assert record == {
        **{"md5": hashlib.md5(content).hexdigest(), "size": len(content), "modified": here.stat().st_mtime_ns},
        "of": [TITANIC, ""],
    }
    assert names(here.parent) == [here.name, f"{here.name}.json"]
    assert source.discard(dataset.competition) == len(content)
    assert names(here.parent) == []
    assert source.discard(dataset.competition) == 0


def test_a_zip_of_the_users_is_never_discarded(twin, source, dataset, here):
    here.write_bytes(twin.read_bytes())
    source.obtain(dataset.competition)
    assert source.discard(dataset.competition) == 0
    assert here.read_bytes() == twin.read_bytes()


def test_a_zip_that_the_user_put_in_the_place_of_ours_is_not_discarded(kaggle, account, twin, source, dataset, here):
    kaggle.add(TITANIC, twin.read_bytes())
    source.obtain(dataset.competition)
    time.sleep(0.01)  # the clock of some file systems is coarse
    here.write_bytes(twin.read_bytes())
    again = Kaggle(dataset.data_dir)
    again.obtain(dataset.competition)
    assert again.describe()["zip"]["md5"] == hashlib.md5(twin.read_bytes()).hexdigest()
    assert again.discard(dataset.competition) == 0
    assert here.is_file()


@pytest.mark.parametrize("is_ours", [True, False])
def test_no_zip_is_hashed_twice(kaggle, account, twin, dataset, here, display, is_ours):
    kaggle.add(TITANIC, twin.read_bytes())
    if not is_ours:
        here.write_bytes(twin.read_bytes())
    described = []
    with shown_on(display):
        for _ in range(3):
            source = Kaggle(dataset.data_dir)
            source.obtain(dataset.competition)
            described.append(source.describe())
    assert described[0] == described[1] == described[2]
    assert [text for text, _ in display.steps].count(f"hashing {here.name}") == (0 if is_ours else 1)


@pytest.mark.parametrize("change", ["time", "content", "record"])
def test_a_zip_that_was_changed_is_hashed_anew(kaggle, account, twin, dataset, here, change):
    kaggle.add(TITANIC, twin.read_bytes())
    Kaggle(dataset.data_dir).obtain(dataset.competition)
    if change == "time":
        os.utime(here, (1, 1))
    if change == "content":
        here.write_bytes(here.read_bytes() + b"more")
    if change == "record":
        here.with_name(f"{here.name}.json").write_text("{")
    source = Kaggle(dataset.data_dir)
    source.obtain(dataset.competition)
    assert source.describe()["zip"]["md5"] == hashlib.md5(here.read_bytes()).hexdigest()
    assert source.discard(dataset.competition) == 0


def test_origin_tells_another_zip(twin, source, dataset, here):
    here.write_bytes(twin.read_bytes())
    first = source.origin(dataset.competition)
    assert source.origin(dataset.competition) == Kaggle(dataset.data_dir).origin(dataset.competition) == first
    os.utime(here, (1, 1))
    assert Kaggle(dataset.data_dir).origin(dataset.competition) != first


def test_fetching_into_a_folder_that_has_some_files(twin, source, dataset, here, tmp_path):
    here.write_bytes(twin.read_bytes())
    raw = tmp_path / "raw"
    raw.mkdir()
    source.fetch(dataset.competition, raw)
    content = (raw / "train.csv").read_bytes()
    (raw / "train.csv").write_bytes(content[:100])
    (raw / "test.csv").unlink()
    source.fetch(dataset.competition, raw)
    assert (raw / "train.csv").read_bytes() == content
    assert (raw / "test.csv").is_file()


def test_a_damaged_zip_is_named(dataset):
    dataset.home.mkdir(parents=True)
    path = dataset.home / f"{TITANIC}.zip"
    path.write_text("not a zip")
    with pytest.raises(PreparationError, match=f"{path} is no zip archive; remove it"):
        prepare(dataset, Kaggle(dataset.data_dir))
    assert not dataset.is_prepared


@pytest.mark.parametrize("place", ["in a file", "in the list of files"])
def test_a_zip_that_is_damaged_inside_is_named(source, dataset, here, tmp_path, twin, place):
    content = bytearray(twin.read_bytes())
    with zipfile.ZipFile(twin) as opened:
        content[200 if place == "in a file" else opened.start_dir] ^= 0xFF
    here.write_bytes(content)
    with pytest.raises(PreparationError, match=f"Remove {here} and run the same command again"):
        source.fetch(dataset.competition, tmp_path / "raw")


def test_without_an_account(tmp_path, mlebench):
    result = mlebench("prepare", "-c", TITANIC, "--source", "kaggle", "--data-dir", tmp_path / "data", code=2)
    assert "no Kaggle credentials were found" in result.output
    assert not (tmp_path / "home").exists()


def test_one_competition_without_rules_does_not_stop_the_others(kaggle, account, twin, tmp_path, mlebench):
    other = "random-acts-of-pizza"
    kaggle.add(other, b"", has_entered=False)
    kaggle.add(TITANIC, twin.read_bytes())
    arguments = ["prepare", "-c", other, "-c", TITANIC, "--data-dir", tmp_path / "data", "--json"]
    results = json.loads(mlebench(*arguments, code=1).stdout)
    assert [result["state"] for result in results] == ["failed", "prepared"]
    assert results[0]["page"] == f"https://www.kaggle.com/competitions/{other}/rules"


def test_a_failed_download_goes_on_next_time(kaggle, account, twin, dataset):
    content = twin.read_bytes()
    held = kaggle.add(TITANIC, content)
    kaggle.fail("storage", Fault.cut(2000), Fault.answer(404), Fault.answer(404))
    with pytest.raises(PreparationError):
        prepare(dataset, Kaggle(dataset.data_dir))
    assert not dataset.is_prepared
    held.has_entered = False
    with pytest.raises(RulesNotAccepted):
        prepare(dataset, Kaggle(dataset.data_dir))
    held.has_entered = True
    prepare(dataset, Kaggle(dataset.data_dir))
    assert kaggle.served == len(content)


def test_progress_is_shown_in_bytes(kaggle, account, twin, dataset, display):
    kaggle.add(TITANIC, twin.read_bytes())
    kaggle.fail("storage", Fault.drip(2000, 0.01))
    with shown_on(display):
        prepare(dataset, Kaggle(dataset.data_dir))
    size = twin.stat().st_size
    step = display.steps.index((f"{TITANIC}: downloading from Kaggle", size)) + 1
    assert display.done[step] == size


def test_the_name_in_the_table(tmp_path):
    found = find_source("kaggle", data_dir=tmp_path)
    assert isinstance(found, Kaggle)
    assert found.data_dir == tmp_path
    assert found.describe() == {"source": "kaggle"}


def test_the_published_md5_is_compared(dataset, twin, monkeypatch):
    """It only tells: Kaggle packs anew now and then, what counts are the prepared files."""
    from dataclasses import replace

    dataset.home.mkdir(parents=True)
    (dataset.home / f"{TITANIC}.zip").write_bytes(twin.read_bytes())
    md5 = hashlib.md5(twin.read_bytes()).hexdigest()
    for published, expected in ((md5, True), ("0" * 32, False)):
        source = Kaggle(dataset.data_dir)
        raw = dataset.home / published
        raw.mkdir()
        source.fetch(replace(dataset.competition, checksums={"zip": published}), raw)
        assert source.describe()["zip"]["is_published"] is expected


def test_the_first_edition_has_a_function_for_it(kaggle, account, twin, tmp_path):
    from mlebench.data import download_dataset

    kaggle.add(TITANIC, twin.read_bytes())
    path = download_dataset(TITANIC, tmp_path / "zips")
    assert path == tmp_path / "zips" / f"{TITANIC}.zip"
    assert path.read_bytes() == twin.read_bytes()
    path.write_bytes(b"damaged")
    assert download_dataset(TITANIC, tmp_path / "zips").read_bytes() == twin.read_bytes()
    asked = len(kaggle.requests)
    download_dataset(TITANIC, tmp_path / "zips")
    assert len(kaggle.requests) == asked
    download_dataset(TITANIC, tmp_path / "zips", force=True)
    assert len(kaggle.requests) > asked
    kaggle.fail("DownloadDataFiles", Fault.rules())
    with pytest.raises(RulesNotAccepted):
        download_dataset(TITANIC, tmp_path / "zips", force=True)
    assert path.read_bytes() == twin.read_bytes()


def test_no_credentials_is_a_usage_error(dataset):
    with pytest.raises(UsageError, match="KAGGLE_API_TOKEN"):
        prepare(dataset, Kaggle(dataset.data_dir))
