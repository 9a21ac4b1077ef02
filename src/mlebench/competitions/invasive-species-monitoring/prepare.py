"""Hold out a random fifth of the photographs. Only edition v2 hands out the photographs themselves."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, unpack, write_csv, zip_files


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = _divide(raw)
    sample = test.assign(invasive=0.5)
    write_csv(test, private / "answers.csv")
    write_csv(sample, private / "sample_submission.csv")
    for table, name in ((train, "train_labels.csv"), (sample, "sample_submission.csv")):
        write_csv(table, public / name)
        zip_files([(public / name, name)], public / f"{name}.zip")
        (public / name).unlink()


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same as plain files, and with the photographs."""
    train, test = _divide(raw)
    write_csv(train, public / "train_labels.csv")
    write_csv(test.assign(invasive=0.5), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
    photographs = unpack(raw, "train.7z") / "train"
    for part, folder in ((train, public / "train"), (test, public / "test")):
        names = [f"{name}.jpg" for name in part["name"]]
        link_files(((photographs / name, folder / name) for name in names), f"placing {folder.name}")


def _divide(raw: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    labels = read_csv(unpack(raw, "train_labels.csv.zip") / "train_labels.csv")
    require_unique(labels["name"])
    return hold_out(labels, 0.2)
