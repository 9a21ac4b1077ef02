"""What was kept stays, and serves the next preparation in the place of a download."""

import dataclasses
import json
import os
import shutil
import zipfile

import pytest

from kaggle_stand_in import zip_of_twin
from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError
from mlebench.preparation.disk.cleaning import Wanted, clean
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle.errors import RulesNotAccepted
from mlebench.preparation.kaggle.readiness import look
from mlebench.preparation.kaggle.source import Kaggle
from mlebench.preparation.pipeline.jobs import Task, is_there, job_of
from mlebench.preparation.sources import Synthetic
from mlebench.preparation.verification import verify
from mlebench.v1_folder import V1Competition

PETS = "petfinder-pawpularity-score"  # pictures, both editions, the whole zip
PIZZA = "random-acts-of-pizza"  # two files of a zip, both editions


def edition(name, which, **changes):
    """In one edition; no published files that twins are unlike."""
    return dataclasses.replace(catalog.get(name).in_edition(which), **{"checksums": {}, **changes})


@pytest.fixture(scope="module")
def zips(tmp_path_factory):
    found = {name: zip_of_twin(name, tmp_path_factory.mktemp("twins"), rows=60) for name in (PETS, PIZZA)}
    with zipfile.ZipFile(found[PIZZA], "a") as archive:
        archive.writestr("more.bin", bytes(1_000_000))
    return found


@pytest.fixture
def held(kaggle, monkeypatch, zips):
    """What Kaggle has, for a user with an account."""
    for name, value in kaggle.environment.items():
        monkeypatch.setenv(name, value)
    return {name: kaggle.add(name, archive.read_bytes()) for name, archive in zips.items()}


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def call(data):
    """Prepare a competition in an edition; returns its data set."""

    def do(name=PETS, which="v1", **options):
        changes = options.pop("changes", {})
        dataset = Dataset(edition(name, which, **changes), data)
        assert prepare(dataset, Kaggle(data), **options)
        return dataset

    return do


def from_nothing(name, which, zips, tmp_path):
    """The files of a manifest, made from the zip alone."""
    home = tmp_path / "alone" / name
    home.mkdir(parents=True)
    shutil.copy(zips[name], home)
    dataset = Dataset(edition(name, which), tmp_path / "alone")
    prepare(dataset, Kaggle(dataset.data_dir))
    return dataset.manifest()["files"]


def facts(folder):
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def damage(path):
    """Give it another content, but not another size."""
    path.write_bytes(b"#" + path.read_bytes()[1:])


# --- raw files


@pytest.mark.parametrize("name", [PETS, PIZZA])
def test_raw_files_of_one_edition_serve_the_other(kaggle, held, zips, call, tmp_path, name):
    first = call(name, keep="raw")
    served, asked, before = kaggle.served, len(kaggle.requests), facts(first.raw)
    second = call(name, "v2")
    assert (kaggle.served, len(kaggle.requests)) == (served, asked)
    assert served <= zips[name].stat().st_size
    ours, theirs = first.manifest(), second.manifest()
    assert theirs["files"] == from_nothing(name, "v2", zips, tmp_path)
    told = {"source": "kaggle"} | {key: ours[key] for key in ("zip", "single_files", "needs") if key in ours}
    assert len(told) > 1
    assert told.items() <= theirs.items()
    assert facts(first.raw) == before
    assert verify(first) == verify(second) == []
    assert not list(first.home.glob(".*"))


def test_prepared_files_are_links_to_raw_files_that_were_kept(held, call):
    dataset = call(keep="raw")
    other = call(which="v2")
    picture = next((other.public / "train").iterdir())
    raw = dataset.raw / "train" / picture.name
    assert raw.samefile(picture) or raw.stat().st_nlink == 1  # where the file system shares blocks
    assert not picture.is_symlink()


def test_raw_files_serve_again_with_force_and_stay(kaggle, held, call):
    dataset = call(keep="raw")
    record, served = (dataset.home / "raw.json").read_text(), kaggle.served
    call(force=True)
    call(force=True, keep="raw")
    assert kaggle.served == served
    assert (dataset.home / "raw.json").read_text() == record
    clean(dataset.data_dir, Wanted(raw=True))
    assert not dataset.raw.exists()
    call(force=True)
    assert kaggle.served == 2 * served


def test_they_need_no_account(kaggle, held, call, monkeypatch):
    call(keep="raw")
    for name in kaggle.environment:
        monkeypatch.delenv(name)
    assert call(which="v2").source == "kaggle"


@pytest.mark.parametrize("change", ["cut", "missing", "more", "no record", "no list in the record"])
def test_raw_files_that_may_not_be_whole_are_not_used(kaggle, held, call, zips, tmp_path, change):
    dataset = call(keep="raw")
    served, record = kaggle.served, dataset.home / "raw.json"
    picture = next((dataset.raw / "train").iterdir())
    if change == "cut":
        picture.unlink()  # prepared files may be links to it
        picture.write_bytes(b"cut")
    elif change == "missing":
        picture.unlink()
    elif change == "more":
        (dataset.raw / "train" / "more.jpg").touch()
    elif change == "no record":
        record.unlink()
    else:
        record.write_text("{}")
    before = facts(dataset.raw)
    assert Kaggle(dataset.data_dir).bytes_here(edition(PETS, "v2")) is None
    assert call(which="v2").manifest()["files"] == from_nothing(PETS, "v2", zips, tmp_path)
    assert kaggle.served == 2 * served
    assert facts(dataset.raw) == before


def test_damage_is_found_with_force_and_mended(kaggle, held, call):
    dataset = call(PIZZA, keep="raw")
    served = kaggle.served
    whole = (dataset.raw / "train.json").read_bytes()
    damage(dataset.raw / "train.json")
    assert [mismatch.path for mismatch in verify(dataset)] == ["raw/train.json"]
    call(PIZZA, force=True)
    assert kaggle.served == 2 * served
    assert (dataset.raw / "train.json").read_bytes() == whole
    assert verify(dataset) == []
    call(PIZZA, "v2")
    assert kaggle.served == 2 * served


def test_kept_raw_files_that_can_not_be_prepared_name_the_way_out(kaggle, held, call):
    dataset = call(PIZZA, keep="raw")
    damage(dataset.raw / "train.json")
    served = kaggle.served
    with pytest.raises(PreparationError, match=rf"--force reads those that are kept in {dataset.raw}"):
        call(PIZZA, "v2")
    assert kaggle.served == served
    call(PIZZA, "v2", force=True)
    assert kaggle.served == 2 * served


def test_damage_that_was_found_is_not_forgotten(kaggle, held, call):
    dataset = call(PIZZA, keep="raw")
    damage(dataset.raw / "train.json")
    held[PIZZA].has_entered = False
    with pytest.raises(RulesNotAccepted):
        call(PIZZA, force=True)
    held[PIZZA].has_entered = True
    served = kaggle.served
    call(PIZZA, "v2")
    assert kaggle.served == 2 * served


@pytest.mark.parametrize("source", ["synthetic", "another zip", "fewer files"])
def test_raw_files_of_something_else_are_not_used(kaggle, held, call, zips, data, source):
    if source == "synthetic":
        prepare(Dataset(edition(PETS, "v1"), data), Synthetic(60), keep="raw")
        call(which="v2")
        assert kaggle.served == zips[PETS].stat().st_size
    elif source == "another zip":
        dataset = call(keep="raw")
        shutil.copy(zips[PETS], dataset.home)
        os.utime(dataset.home / zips[PETS].name, (1e9, 1e9))
        assert call(which="v2").manifest()["zip"]["modified"].startswith("2001")
    else:
        call(PIZZA, keep="raw")
        served = kaggle.served
        call(PIZZA, "v2", changes={"raw_files": ()})
        assert kaggle.served == served + zips[PIZZA].stat().st_size


def test_a_zip_of_the_users_is_unpacked_once(held, call, zips, data, display):
    from mlebench.preparation.progress import shown_on

    (data / PETS).mkdir(parents=True)
    shutil.copy(zips[PETS], data / PETS)
    call(keep="raw")
    with shown_on(display):
        call(which="v2")
    assert not [text for text, _ in display.steps if zips[PETS].name in text]


def test_competitions_of_the_first_form_leave_them_alone(kaggle, held, call, data):
    """They may change raw files in place."""
    call(keep="raw")
    fields = {f.name: getattr(edition(PETS, "v1"), f.name) for f in dataclasses.fields(catalog.get(PETS))}
    stranger = V1Competition(**fields, preparer="any:thing")
    assert Kaggle(data).bytes_here(edition(PETS, "v1")) == kaggle.served
    assert Kaggle(data).bytes_here(stranger) is None


def test_they_count_as_downloaded(held, call, zips, data):
    call(keep="raw")
    other = Dataset(edition(PETS, "v2"), data)
    found = look([other])
    assert (found.delivered, found.wanted, found.access) == ((PETS,), (), {})
    task = Task(other)
    source = Kaggle(data)
    job = job_of(task, source, is_there(task, source))
    assert (job.stage, job.is_size_told, job.still_needs.download) == ("prepare", True, 0)
    assert job.still_needs.peak == job.still_needs.final  # raw files are not written again
    assert source.bytes_here(other.competition) == zips[PETS].stat().st_size


def test_by_the_command(kaggle, held, data, mlebench):
    arguments = ["prepare", "-c", PETS, "-c", PIZZA, "--data-dir", data, "--json"]
    mlebench(*arguments, "--keep", "raw")
    asked = len(kaggle.requests)
    results = json.loads(mlebench(*arguments, "--edition", "v2").stdout)
    assert [result["state"] for result in results] == ["prepared", "prepared"]
    assert len(kaggle.requests) == asked


# --- downloads


@pytest.mark.parametrize(("name", "entry"), [(PETS, f"{PETS}.zip"), (PIZZA, f"{PIZZA}.files")])
def test_a_download_that_was_kept_stays(kaggle, held, call, name, entry):
    dataset = call(name, keep="zip")
    served = kaggle.served
    call(name, "v2")
    call(name, force=True)
    call(name, force=True, keep="raw")
    assert kaggle.served == served
    assert (dataset.home / entry).exists()
    clean(dataset.data_dir, Wanted(zips=True))
    assert not (dataset.home / entry).exists()


@pytest.mark.parametrize("name", [PETS, PIZZA])
def test_what_a_killed_call_downloaded_goes_with_the_next(kaggle, held, call, data, name):
    Kaggle(data).obtain(edition(name, "v1"))
    served = kaggle.served
    dataset = call(name)
    assert kaggle.served == served
    assert [path.name for path in dataset.home.iterdir()] == ["prepared"]


def test_a_download_stays_for_files_that_are_not_the_published_ones(kaggle, held, call):
    dataset = call(changes={"checksums": catalog.get(PETS).checksums})
    assert dataset.manifest()["unlike_published"]
    served = kaggle.served
    call(which="v2")
    assert kaggle.served == served
    assert (dataset.home / f"{PETS}.zip").exists()
