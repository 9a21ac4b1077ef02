"""Hold out the pictures of two TFRecord files; in edition v2 those of a random eighth of the patients."""

from __future__ import annotations

from itertools import compress
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out_groups, link_files, read_csv, require_unique, write_csv
from mlebench.preparation.tfrecords import read_examples, read_records, read_texts, write_examples, write_records

TEST_FILES = ("train00-2071.tfrec", "train06-2071.tfrec")
FACTS = ["image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    pictures = _read_pictures(raw)
    test_names = [name for file in TEST_FILES for name in read_texts(raw / "tfrecords" / file, "image_name")]
    is_test = pictures["image_name"].isin(test_names)
    _place(pictures[~is_test], pictures[is_test], raw, public, private)
    files = _record_files(raw)
    tests = [file for file in files if file.name in TEST_FILES]
    link_files(_numbered([file for file in files if file not in tests], "train", public), "placing TFRecords")
    link_files(_numbered(tests, "test", public), "placing TFRecords")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but no patient is on both sides, and records of test pictures hold no answers."""
    train, test = hold_out_groups(_read_pictures(raw), "patient_id", 0.125)
    _place(train, test, raw, public, private)
    for number, file in enumerate(_record_files(raw)):
        _divide_records(file, number, set(test["image_name"]), public / "tfrecords")


def _read_pictures(raw: Path) -> pd.DataFrame:
    pictures = read_csv(raw / "train.csv")
    require_unique(pictures["image_name"])
    return pictures


def _record_files(raw: Path) -> list[Path]:
    return sorted((raw / "tfrecords").glob("train*.tfrec"))


def _place(train: pd.DataFrame, test: pd.DataFrame, raw: Path, public: Path, private: Path) -> None:
    """The tables, and the pictures as DICOM and JPEG."""
    if train.empty or test.empty:
        raise PreparationError(f"{len(train)} pictures for training and {len(test)} for the test: there must be both")
    answers = test[["image_name", "target"]]

    write_csv(train, public / "train.csv")
    write_csv(test[FACTS], public / "test.csv")
    write_csv(answers.assign(target=0), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    for part, folder in ((train, "train"), (test, "test")):
        names = list(part["image_name"])
        link_files((raw / "train" / f"{name}.dcm", public / folder / f"{name}.dcm") for name in names)
        jpegs, target = raw / "jpeg" / "train", public / "jpeg" / folder
        link_files((jpegs / f"{name}.jpg", target / f"{name}.jpg") for name in names)


def _numbered(files: list[Path], part: str, public: Path) -> list[tuple[Path, Path]]:
    """The files with their new names: `part`, a number from 0, and the count of records in the old name."""
    return [
        (file, public / "tfrecords" / f"{part}{number:02d}-{file.stem.partition('-')[2]}.tfrec")
        for number, file in enumerate(files)
    ]


def _divide_records(file: Path, number: int, test_names: set[str], target: Path) -> None:
    """Write the records of training pictures as they are, those of test pictures with facts only."""
    is_test = [name in test_names for name in read_texts(file, "image_name")]
    is_train = [not test for test in is_test]
    kept = {"image", *FACTS}
    if any(is_train):
        records = compress(read_records(file), is_train)
        write_records(target / f"train{number:02d}-{sum(is_train)}.tfrec", records)
    if any(is_test):
        examples = compress(read_examples(file), is_test)
        facts = ({name: values for name, values in each.items() if name in kept} for each in examples)
        write_examples(target / f"test{number:02d}-{sum(is_test)}.tfrec", facts)
