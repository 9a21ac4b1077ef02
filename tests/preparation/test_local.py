"""What is found of a competition at a path of the user's; nothing of it is ever changed."""

import dataclasses
import hashlib
import shutil
import tarfile
import zipfile

import py7zr
import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.local import Local
from mlebench.preparation.sources import Synthetic
from mlebench.preparation.verification import verify

ID = "spaceship-titanic"
COMPETITION = dataclasses.replace(catalog.get(ID), checksums={})  # no published files that twins are unlike


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Raw files of the twin."""
    folder = tmp_path_factory.mktemp("original") / "raw"
    folder.mkdir()
    Synthetic(rows=40).fetch(COMPETITION, folder)
    return folder


@pytest.fixture(scope="module")
def expected(original, tmp_path_factory):
    """The hashes of what is prepared from them."""
    dataset = Dataset(COMPETITION, tmp_path_factory.mktemp("expected"))
    prepare(dataset, Local(original))
    return dataset.manifest()["files"]


def pack(folder, archive):
    """The files of the folder as an archive of the kind that its name says."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.iterdir())
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
            for file in files:
                opened.write(file, file.name)
    elif archive.suffix == ".7z":
        with py7zr.SevenZipFile(archive, "w") as opened:
            for file in files:
                opened.write(file, file.name)
    else:
        with tarfile.open(archive, "w:gz") as opened:
            for file in files:
                opened.add(file, file.name)
    return archive


def state(folder):
    """All that is in the folder, with contents, times and rights."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = hashlib.md5(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[path] = (content, facts.st_mode, facts.st_mtime_ns, facts.st_ino)
    return found


PLACES = {
    "raw files": lambda raw, top: (shutil.copytree(raw, top / "mine"), top / "mine"),
    "raw files under the id": lambda raw, top: (shutil.copytree(raw, top / ID), top),
    "a zip": lambda raw, top: (pack(raw, top / "any.zip"), top / "any.zip"),
    "a zip under the id": lambda raw, top: (pack(raw, top / f"{ID}.zip"), top),
    "a 7z under the id": lambda raw, top: (pack(raw, top / f"{ID}.7z"), top),
    "a tar.gz under the id": lambda raw, top: (pack(raw, top / f"{ID}.tar.gz"), top),
    "a zip in the id's folder": lambda raw, top: (pack(raw, top / ID / f"{ID}.zip"), top),
    "raw in the id's folder": lambda raw, top: (shutil.copytree(raw, top / ID / "raw"), top),
    "the id's folder itself": lambda raw, top: (shutil.copytree(raw, top / ID / "raw"), top / ID),
    "an empty folder beside the zip": lambda raw, top: ((top / ID).mkdir(), pack(raw, top / f"{ID}.zip"), top),
}


@pytest.mark.parametrize("place", PLACES)
def test_it_is_found_and_not_changed(place, original, expected, tmp_path):
    top = tmp_path / "users"
    top.mkdir()
    path = PLACES[place](original, top)[-1]
    before = state(top)
    dataset = Dataset(COMPETITION, tmp_path / "data")
    prepare(dataset, Local(path))
    assert dataset.manifest()["files"] == expected
    assert state(top) == before
    assert {entry.name for entry in dataset.home.iterdir()} == {"prepared"}
    shutil.rmtree(top)
    assert verify(dataset) == []


def test_what_is_missing_in_a_folder_for_several_is_said(original, tmp_path):
    pack(original, tmp_path / "in" / "spooky-author-identification.zip")
    with pytest.raises(PreparationError) as caught:
        prepare(Dataset(COMPETITION, tmp_path / "data"), Local(tmp_path / "in"))
    said = str(caught.value)
    assert f"{ID} is not in {tmp_path / 'in'}" in said
    assert f"nor an archive {ID}.zip" in said
    assert "there is spooky-author-identification.zip" in said


def test_an_empty_folder_is_named(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(PreparationError, match="the folder is empty"):
        prepare(Dataset(COMPETITION, tmp_path / "data"), Local(tmp_path / "in"))


def test_a_path_that_is_not_there_is_wrong_use(tmp_path):
    with pytest.raises(UsageError, match="no such folder or archive"):
        Local(tmp_path / "nowhere")


def test_scratch_of_kept_raw_files_is_not_written_to(original, tmp_path):
    """What an earlier preparation unpacked beside raw files is neither taken nor changed."""
    raw = shutil.copytree(original, tmp_path / "raw")
    (raw / ".unpacked" / "train.zip").mkdir(parents=True)
    linked = tmp_path / "linked"
    linked.mkdir()
    Local(raw).fetch(COMPETITION, linked)
    assert sorted(entry.name for entry in linked.iterdir()) == sorted(entry.name for entry in original.iterdir())


def prepared_elsewhere(original, top):
    """A data directory as the original leaves it: prepared files alone, without a manifest of ours."""
    dataset = Dataset(COMPETITION, top)
    prepare(dataset, Local(original))
    dataset.manifest_path.unlink()
    (dataset.public / "description.md").write_text("Words of the original.")
    return dataset


def published(dataset):
    """The competition with the md5 of these files as the published ones."""
    paths = ["public/train.csv", "private/test.csv"]
    sums = {path: hashlib.md5((dataset.prepared / path).read_bytes()).hexdigest() for path in paths}
    return dataclasses.replace(COMPETITION, checksums=sums)


@pytest.mark.parametrize("own", [False, True], ids=["elsewhere", "in its own place"])
def test_prepared_files_of_the_original_are_taken_over(original, expected, tmp_path, own):
    old = prepared_elsewhere(original, tmp_path / "old")
    before = state(tmp_path / "old")
    dataset = Dataset(published(old), tmp_path / "old" if own else tmp_path / "data")
    assert prepare(dataset, Local(tmp_path / "old"))
    manifest = dataset.manifest()
    assert (manifest["source"], manifest["adopted"]) == ("local", True)
    assert manifest["files"] == expected
    assert verify(dataset) == []
    assert not prepare(dataset, Local(tmp_path / "old"))
    if not own:
        assert state(tmp_path / "old") == before


@pytest.mark.parametrize("fault", ["other bytes", "missing", "sample"])
def test_prepared_files_that_are_not_the_published_ones_are_refused(original, tmp_path, fault):
    old = prepared_elsewhere(original, tmp_path / "old")
    competition = published(old)
    if fault == "other bytes":
        (old.public / "train.csv").write_text("x")
    elif fault == "missing":
        (old.private / "test.csv").unlink()
        (old.private / "other.csv").touch()
    else:
        old.sample_submission.write_text("PassengerId,Transported\n")
    dataset = Dataset(competition, tmp_path / "data")
    with pytest.raises(PreparationError) as caught:
        prepare(dataset, Local(tmp_path / "old"))
    name = {"other bytes": "public/train.csv", "missing": "private/test.csv", "sample": "sample submission"}[fault]
    assert name in str(caught.value)
    assert list(dataset.home.iterdir()) == []


def test_files_in_the_place_are_only_replaced_by_force(original, expected, tmp_path):
    old = prepared_elsewhere(original, tmp_path / "data")
    competition = published(old)
    (old.public / "train.csv").write_text("x")
    dataset = Dataset(competition, tmp_path / "data")
    with pytest.raises(PreparationError, match="--force"):
        prepare(dataset, Local(original))
    with pytest.raises(PreparationError, match="--force"):
        prepare(dataset, Synthetic())
    assert (old.public / "train.csv").read_text() == "x"
    prepare(dataset, Local(original), force=True)
    assert dataset.manifest()["files"] == expected


def test_data_prepared_on_another_machine_are_taken_over(original, expected, tmp_path):
    theirs = Dataset(COMPETITION, tmp_path / "theirs")
    prepare(theirs, Local(original))
    dataset = Dataset(COMPETITION, tmp_path / "data")
    prepare(dataset, Local(tmp_path / "theirs"))
    assert dataset.manifest()["files"] == expected
    assert dataset.manifest()["adopted_from"]["path"] == str(original)
    (theirs.public / "test.csv").unlink()
    with pytest.raises(PreparationError, match=r"public/test\.csv is missing"):
        prepare(Dataset(COMPETITION, tmp_path / "more"), Local(tmp_path / "theirs"))


def test_synthetic_data_stay_marked(tmp_path):
    prepare(Dataset(COMPETITION, tmp_path / "theirs"), Synthetic())
    with pytest.raises(PreparationError, match="they are synthetic"):
        prepare(Dataset(COMPETITION, tmp_path / "data"), Local(tmp_path / "theirs"))


def test_data_of_the_original_in_the_data_directory_need_no_download(original, tmp_path, mlebench, monkeypatch):
    """Its default data directory is ours: who has used it finds all prepared, without an account."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "competitions" / ID
    shutil.copytree(COMPETITION.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    sums = published(prepared_elsewhere(original, tmp_path / "data")).checksums
    facts = (folder / "competition.toml").read_text().partition("[checksums]")[0]
    lines = "".join(f'"{path}" = "{md5}"\n' for path, md5 in sums.items())
    (folder / "competition.toml").write_text(f"{facts}[checksums]\n{lines}")
    mlebench("prepare", "-c", ID, "--competitions", folder.parent, "--data-dir", tmp_path / "data")
    assert Dataset(COMPETITION, tmp_path / "data").manifest()["adopted"]
    (tmp_path / "data" / ID / "prepared" / "manifest.json").unlink()
    (tmp_path / "data" / ID / "prepared" / "public" / "train.csv").write_text("x")
    said = mlebench("prepare", "-c", ID, "--competitions", folder.parent, "--data-dir", tmp_path / "data", code=1)
    assert "public/train.csv is not the published file" in said.output


def test_what_mlebench_prepared_is_preferred_to_preparing_again(original, expected, tmp_path):
    theirs = Dataset(COMPETITION, tmp_path / "theirs")
    prepare(theirs, Local(original), keep="raw")
    dataset = Dataset(COMPETITION, tmp_path / "data")
    prepare(dataset, Local(tmp_path / "theirs"))
    assert dataset.manifest()["adopted"]
    assert dataset.manifest()["files"] == expected
    assert prepare(theirs, Local(tmp_path / "theirs"), force=True)  # itself: from its raw files, then
    assert "adopted" not in theirs.manifest()
    assert theirs.manifest()["files"] == expected
    shutil.rmtree(theirs.raw)
    with pytest.raises(PreparationError, match="prepared files alone"):
        prepare(theirs, Local(tmp_path / "theirs"), force=True)
    assert verify(theirs) == []
