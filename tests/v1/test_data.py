import dataclasses
import hashlib
import zipfile

import numpy as np
import pytest

from mlebench import catalog
from mlebench.data import (
    download_and_prepare_dataset,
    download_dataset,
    generate_checksums,
    get_checksum,
    get_leaderboard,
    is_dataset_prepared,
)
from mlebench.errors import MlebenchError, PreparationError
from mlebench.registry import Registry

ID = "spaceship-titanic"


@pytest.fixture
def competition(tmp_path):
    return Registry(tmp_path / "data").get_competition(ID)


@pytest.fixture
def raw(competition):
    """Synthetic raw files where they are looked for."""
    competition.raw_dir.mkdir(parents=True)
    catalog.get(ID).make_raw(competition.raw_dir, np.random.default_rng(0), 100)
    return competition.raw_dir


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_raw_files_are_prepared_and_kept(competition, raw):
    before = files(raw)
    assert is_dataset_prepared(competition) is False
    download_and_prepare_dataset(competition, skip_verification=True)
    assert is_dataset_prepared(competition) is True
    assert is_dataset_prepared(competition, grading_only=True) is True
    assert set(files(competition.public_dir)) == {"train.csv", "test.csv", "sample_submission.csv", "description.md"}
    assert set(files(competition.private_dir)) == {"test.csv"}
    assert files(raw) == before


def test_raw_files_go_only_when_all_is_done(competition, raw):
    (raw / "train.csv").rename(raw / "elsewhere.csv")
    with pytest.raises(PreparationError):
        download_and_prepare_dataset(competition, keep_raw=False, skip_verification=True)
    (raw / "elsewhere.csv").rename(raw / "train.csv")
    download_and_prepare_dataset(competition, keep_raw=False, skip_verification=True)
    assert not raw.exists()
    assert len((competition.public_dir / "train.csv").read_text().splitlines()) == 91


@pytest.mark.parametrize("keep_raw", [True, False])
def test_the_zip_is_unpacked_and_kept(competition, raw, keep_raw):
    expected = files(raw)
    archive = raw.parent / f"{ID}.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in expected.items():
            opened.writestr(name, content)
    for path in raw.iterdir():
        path.unlink()
    download_and_prepare_dataset(competition, keep_raw=keep_raw, skip_verification=True)
    assert is_dataset_prepared(competition)
    assert archive.is_file()
    assert files(raw) == (expected if keep_raw else {})


def test_what_is_prepared_stays(competition, raw):
    download_and_prepare_dataset(competition, skip_verification=True)
    (competition.public_dir / "mine.txt").write_text("kept")
    download_and_prepare_dataset(competition)
    assert (competition.public_dir / "mine.txt").is_file()


def test_other_data_than_the_published_are_refused(competition, raw):
    with pytest.raises(PreparationError, match=r"not the published ones: .*public/train\.csv"):
        download_and_prepare_dataset(competition)


def test_another_zip_than_the_published_is_refused(competition):
    archive = competition.raw_dir.parent / f"{ID}.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("train.csv", "a\n1\n")
    with pytest.raises(PreparationError, match="not the published file"):
        download_and_prepare_dataset(competition)
    assert not is_dataset_prepared(competition)


def test_nothing_to_prepare_from_is_a_clear_error(competition):
    with pytest.raises(MlebenchError, match="Kaggle"):
        download_and_prepare_dataset(competition)
    assert not is_dataset_prepared(competition)


def write_files(raw, public, private):
    for folder, name in ((public, "train.csv"), (public, "test.csv")):
        (folder / name).write_text("PassengerId\n0001_01\n")
    for folder, name in ((public, "sample_submission.csv"), (private, "test.csv")):
        (folder / name).write_text("PassengerId,Transported\n0001_01,True\n")


def test_another_prepare_function_is_used(competition, raw):
    own = dataclasses.replace(competition, prepare_fn=write_files)
    download_and_prepare_dataset(own, skip_verification=True)
    assert (competition.public_dir / "train.csv").read_text() == "PassengerId\n0001_01\n"


def test_data_of_another_program_count_as_prepared(competition, tmp_path):
    for folder in (competition.public_dir, competition.private_dir):
        folder.mkdir(parents=True)
    assert is_dataset_prepared(competition) is False
    write_files(None, competition.public_dir, competition.private_dir)
    assert is_dataset_prepared(competition) is True
    from mlebench.grade import grade_csv

    report = grade_csv(competition.sample_submission, competition)
    assert (report.score, report.source) == (1.0, "")


def test_only_the_answers_are_needed_to_grade(competition):
    competition.private_dir.mkdir(parents=True)
    competition.answers.write_text("PassengerId,Transported\n0001_01,True\n")
    assert is_dataset_prepared(competition) is False
    assert is_dataset_prepared(competition, grading_only=True) is True


def test_a_zip_that_is_there_need_not_be_downloaded(tmp_path, monkeypatch):
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with zipfile.ZipFile(tmp_path / f"{ID}.zip", "w") as opened:
        opened.writestr("train.csv", "a\n1\n")
    assert download_dataset(ID, tmp_path) == tmp_path / f"{ID}.zip"
    with pytest.raises(MlebenchError):
        download_dataset(ID, tmp_path / "nothing")


def test_checksums(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.csv").write_bytes(b"2")
    sums = {"a.csv": hashlib.md5(b"1").hexdigest(), "sub/b.csv": hashlib.md5(b"2").hexdigest()}
    assert generate_checksums(tmp_path) == sums
    assert get_checksum(tmp_path / "a.csv") == sums["a.csv"]


def test_a_leaderboard_that_does_not_exist_is_a_clear_error(competition, tmp_path):
    with pytest.raises(MlebenchError, match="no leaderboard"):
        get_leaderboard(dataclasses.replace(competition, leaderboard=tmp_path / "none.csv"))
