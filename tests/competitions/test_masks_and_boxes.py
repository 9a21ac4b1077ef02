"""Faulty raw data of the competitions of masks and boxes are named; rare cases work."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.grading import validate_submission
from mlebench.tables import read_csv, write_csv

HUBMAP, CONTRAILS = "hubmap-kidney-segmentation", "google-research-identify-contrails-reduce-global-warming"
INK, BOWEL = "vesuvius-challenge-ink-detection", "uw-madison-gi-tract-image-segmentation"
KUZUSHIJI, COVID = "kuzushiji-recognition", "siim-covid19-detection"
DRIVES = "3d-object-detection-for-autonomous-vehicles"


@pytest.fixture
def prepared(tmp_path):
    """Makes raw data, lets `spoil(raw)` change them, prepares them: public and private folder."""

    def made(name, spoil, size=12):
        competition = catalog.get(name)
        raw, public, private = folders = [tmp_path / each for each in ("raw", "public", "private")]
        for folder in folders:
            folder.mkdir()
        competition.make_raw(raw, np.random.default_rng(0), size)
        spoil(raw)
        competition.prepare(raw, public, private)
        return public, private

    return made


def rewritten(path, change):
    write_csv(change(read_csv(path, dtype=str)), path)


def records_changed(path, change):
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def some_slice(raw):
    return min((raw / "train").rglob("slice_0001_*.png"))


def for_all_slices(raw, change):
    for path in list((raw / "train").rglob("slice_0001_*.png")):
        change(path)


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        (HUBMAP, lambda raw: rewritten(raw / "train.csv", lambda t: pd.concat([t, t.head(1)])), "repeat the id"),
        (
            HUBMAP,
            lambda raw: rewritten(raw / "HuBMAP-20-dataset_information.csv", lambda t: t.head(1)),
            "lacks the pictures",
        ),
        (HUBMAP, lambda raw: shutil.rmtree(raw / "train"), "files are missing"),
        (CONTRAILS, lambda raw: (raw / "train_metadata.json").write_text("[1, 2]"), "no list of records"),
        (CONTRAILS, lambda raw: (raw / "validation_metadata.json").unlink(), "can't be read"),
        (CONTRAILS, lambda raw: shutil.rmtree(raw / "train"), "can't be read"),
        (INK, lambda raw: (raw / "train" / "3" / "ir.png").unlink(), "must hold each of"),
        (INK, lambda raw: (raw / "train" / "3" / "notes.txt").write_text("x"), "unknown kinds: notes.txt"),
        (INK, lambda raw: (raw / "train" / "3" / "ir.png").write_bytes(b"x"), "can't be read"),
        (INK, lambda raw: shutil.rmtree(raw / "train" / "3"), "folder 3 is missing"),
        (BOWEL, lambda raw: for_all_slices(raw, lambda path: path.unlink()), "slices have no file"),
        (
            BOWEL,
            lambda raw: for_all_slices(raw, lambda path: shutil.copy(path, path.with_name("slice_0001_9_9_1_1.png"))),
            "slices have several files",
        ),
        (BOWEL, lambda raw: shutil.rmtree(some_slice(raw).parents[1]), "1 scans have no folder"),
        (
            BOWEL,
            lambda raw: rewritten(raw / "train.csv", lambda t: t.assign(id="case1_dayx_slice_0001")),
            "no case and day",
        ),
        (KUZUSHIJI, lambda raw: (raw / "train_images.zip").write_bytes(b"x"), "damaged"),
        (KUZUSHIJI, lambda raw: shutil.copy(raw / "test_images.zip", raw / "train_images.zip"), "members are missing"),
        (KUZUSHIJI, lambda raw: rewritten(raw / "train.csv", lambda t: t.assign(labels="U+3042 1 2")), "no quintuples"),
        (
            COVID,
            lambda raw: rewritten(raw / "train_image_level.csv", lambda t: t.assign(StudyInstanceUID="x")),
            "pictures belong to no study",
        ),
        (COVID, lambda raw: shutil.rmtree(raw / "train"), "studies have no folder"),
        (DRIVES, lambda raw: rewritten(raw / "train.csv", lambda t: t.iloc[1:]), "1 of 60 are missing"),
        (DRIVES, lambda raw: rewritten(raw / "train.csv", lambda t: t.assign(PredictionString="1 2")), "has no boxes"),
        (
            DRIVES,
            lambda raw: records_changed(raw / "train_data" / "sample.json", lambda r: r[1:]),
            "not in sample.json",
        ),
        (DRIVES, lambda raw: records_changed(raw / "train_data" / "ego_pose.json", lambda r: r[1:]), "in no table"),
        (DRIVES, lambda raw: records_changed(raw / "train_data" / "log.json", lambda r: r + r[:1]), "repeat the token"),
        (DRIVES, lambda raw: shutil.rmtree(raw / "train_lidar"), "files are missing"),
    ],
)
def test_faulty_raw_data_are_named(name, spoil, message, prepared):
    with pytest.raises(PreparationError, match=message):
        prepared(name, spoil)


def test_pages_without_characters_may_be_tested(prepared):
    _, private = prepared(KUZUSHIJI, lambda raw: rewritten(raw / "train.csv", lambda t: t.assign(labels="")))
    for name in ("test.csv", "gold_submission.csv"):
        assert read_csv(private / name)["labels"].isna().all()


def test_records_may_come_without_validation_folder(prepared):
    public, _ = prepared(CONTRAILS, lambda raw: shutil.rmtree(raw / "validation"))
    assert list((public / "validation").iterdir()) == []


def test_patients_are_new_or_scanned_later(prepared):
    public, _ = prepared(BOWEL, lambda _: None, size=20)
    train, test = (
        read_csv(public / name)["id"].str.extract(r"(?P<case>case\d+)_day(?P<day>\d+)")
        for name in ("train.csv", "test.csv")
    )
    first, last = (
        test.astype({"day": int}).groupby("case")["day"].min(),
        train.astype({"day": int}).groupby("case")["day"].max(),
    )
    shared = first.index.intersection(last.index)
    assert 0 < len(shared) < len(first)
    assert (first[shared] > last[shared]).all()
    assert train.groupby("case")["day"].nunique().max() == 4
    for side, table in (("train", train), ("test", test)):
        folders = {path.name for path in (public / side).glob("*/*")}
        assert folders == {f"{case}_day{day}" for case, day in table.itertuples(index=False)}


def test_files_without_rows_stay_with_their_patient(prepared):
    def add_days(raw):
        for case in list((raw / "train").iterdir()):
            shutil.copytree(next(case.iterdir()), case / f"{case.name}_day99")

    public, _ = prepared(BOWEL, add_days, size=20)
    tested = read_csv(public / "test.csv")["id"].str.split("_").str[0]
    trained = read_csv(public / "train.csv")["id"].str.split("_").str[0]
    for side, cases in (("train", trained), ("test", tested[~tested.isin(trained)])):
        assert {path.parent.name for path in (public / side).glob("*/*_day99")} == set(cases)


def test_slices_of_different_size_make_no_volume():
    answers = pd.DataFrame({"id": ["case1_day1_slice_0001", "case1_day1_slice_0002"], "class": "stomach"})
    answers = answers.assign(predicted="1 3", image_width=[4.0, 5.0], image_height=4.0)
    score = catalog.get(BOWEL).score
    assert math.isnan(score(answers[["id", "class", "predicted"]], answers))
    assert score(answers[["id", "class", "predicted"]], answers.assign(image_width=4.0)) == 1


def test_too_many_characters_bring_a_warning(twins, tmp_path):
    dataset = twins(KUZUSHIJI)
    sample = read_csv(dataset.sample_submission)
    for count, warnings in ((1200, 0), (1201, 1)):
        write_csv(sample.assign(labels=" ".join(["U+3042 1 1"] * count)), tmp_path / "submission.csv")
        found = validate_submission(tmp_path / "submission.csv", dataset)
        assert found.valid
        assert len(found.warnings) == warnings
