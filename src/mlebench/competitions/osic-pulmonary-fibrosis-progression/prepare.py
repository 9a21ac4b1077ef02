"""Hold out a random tenth of the patients, of whom only the first reading and the scan are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, random_order_of_groups, read_csv, walk, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = _divide(read_csv(raw / "train.csv"))

    _write(raw, public, private, train, test, range(test["Weeks"].min(), test["Weeks"].max() + 1))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but the weeks that are asked for do not depend on the test patients."""
    train, test = _divide(read_csv(raw / "train.csv"))

    _write(raw, public, private, train, test, range(-12, 134))


def _divide(readings: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The readings of training and of test patients, patient by patient in shuffled order."""
    order, tested = random_order_of_groups(readings["Patient"], 0.1)
    return readings.iloc[order[tested:]], readings.iloc[order[:tested]]


def _write(raw: Path, public: Path, private: Path, train: pd.DataFrame, test: pd.DataFrame, weeks: range) -> None:
    answers = _answers(test, weeks)

    write_csv(train, public / "train.csv")
    write_csv(_first_readings(test), public / "test.csv")
    write_csv(answers[["Patient_Week"]].assign(FVC=2000, Confidence=100), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    for part, readings in (("train", train), ("test", test)):
        _link_scans(raw / "train", readings["Patient"].unique().tolist(), public / part)


def _first_readings(readings: pd.DataFrame) -> pd.DataFrame:
    """One row a patient, sorted by name."""
    first = readings.sort_values("Weeks").groupby("Patient", as_index=False).first()
    return first[readings.columns]


def _answers(test: pd.DataFrame, weeks: range) -> pd.DataFrame:
    """A row for every patient and week, with the reading if there is one."""
    grid = pd.MultiIndex.from_product([test["Patient"].unique(), weeks], names=["Patient", "Weeks"])
    answers = grid.to_frame(index=False).merge(test, how="left", on=["Patient", "Weeks"])
    if len(answers) != len(grid):
        twice = test.loc[test.duplicated(["Patient", "Weeks"]), "Patient"].iloc[0]
        raise PreparationError(f"train.csv has two readings in one week of {twice}, who is a test patient")
    answers["Patient_Week"] = answers["Patient"] + "_" + answers["Weeks"].map(str)
    return answers.assign(Confidence=100)


def _link_scans(source: Path, patients: Sequence[str], target: Path) -> None:
    missing = [name for name in patients if not (source / name).is_dir()]
    if missing:
        raise PreparationError(f"{len(missing)} patients have no folder in {source}, such as {missing[0]}")
    scans = (path for name in patients for path in walk(source / name))
    link_files(((path, target / path.relative_to(source)) for path in scans), "placing scans")
