"""Hold out all drives of a random tenth of the days."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, link_folder, walk, write_csv
from mlebench.preparation.inexact_floats import read_csv_inexactly

TRUTH = "ground_truth.csv"
COLUMNS = ["tripId", "UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    _write(raw, public, private, hidden=lambda file: file.name == TRUTH)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but of the test's supplemental files only those that the phone made itself are given."""
    _write(raw, public, private, hidden=lambda file: file.name == TRUTH or not _is_of_the_phone(file))


def _is_of_the_phone(file: Path) -> bool:
    """Whether a phone recorded `file`, and not the surveying receiver."""
    return "supplemental" not in file.parts or file.name.startswith(("gnss_log.", "gnss_rinex."))


def _write(raw: Path, public: Path, private: Path, hidden: Callable[[Path], bool]) -> None:
    """Place all files of all drives, but of the test drives only those that are not `hidden`."""
    source = raw / "train"
    train, test = _divide(sorted(path.name for path in source.iterdir() if path.is_dir()))
    answers = _answers(source, test)

    shown = [file for file in _files(source, test) if not hidden(file)]
    link_files(((source / file, public / "train" / file) for file in _files(source, train)), "placing training trips")
    link_files(((source / file, public / "test" / file) for file in shown), "placing test trips")
    link_folder(raw / "metadata", public / "metadata")
    write_csv(
        answers.assign(LatitudeDegrees=37.904611315634504, LongitudeDegrees=-86.48107806249548),
        public / "sample_submission.csv",
    )
    write_csv(answers, private / "test.csv")


def _divide(drives: Iterable[str]) -> tuple[list[str], list[str]]:
    """The drives for training and test; those of one day stay together."""
    day = pd.Series({drive: _day(drive) for drive in drives}, dtype=object)
    _, test_days = hold_out(pd.Series(sorted(day.unique()), dtype=object), 0.1)
    is_test = day.isin(test_days)
    return list(day.index[~is_test]), list(day.index[is_test])


def _day(drive: str) -> str:
    """Year, month and day of `2020-8-2-US-SJC-1`, as `2020-08-02`."""
    parts = drive.split("-")[:3]
    if len(parts) < 3 or not all(part.isdigit() for part in parts):
        raise PreparationError(f"the folder train/{drive} does not begin with a date such as 2020-05-15")
    return "-".join([parts[0], parts[1].zfill(2), parts[2].zfill(2)])


def _files(source: Path, drives: Iterable[str]) -> list[Path]:
    """All files of `drives`, relative to the folder `source` of the drives."""
    return [path.relative_to(source) for drive in drives for path in walk(source / drive)]


def _answers(source: Path, drives: list[str]) -> pd.DataFrame:
    """The true positions of all trips of `drives`, sorted by drive and phone."""
    tables = []
    for drive in drives:
        files = sorted((source / drive).rglob(TRUTH), key=lambda path: path.parts)
        if not files:
            raise PreparationError(f"no phone of train/{drive} has a {TRUTH}")
        tables += [read_csv_inexactly(file).assign(tripId=f"{drive}-{file.parent.name}") for file in files]
    return pd.concat(tables)[COLUMNS]
