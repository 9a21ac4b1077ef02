"""Hold out a random tenth of the images; in edition v2 of the patients."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, link_files, read_csv, require_unique, write_csv

ETT = ["ETT - Abnormal", "ETT - Borderline", "ETT - Normal"]
NGT = ["NGT - Abnormal", "NGT - Borderline", "NGT - Incompletely Imaged", "NGT - Normal"]
SCORED = [*ETT, *NGT, "CVC - Abnormal", "CVC - Borderline"]
SCORED_V2 = [*SCORED, "CVC - Normal", "Swan Ganz Catheter Present"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_read_images(raw), 0.1)
    _place(train, test, SCORED, raw, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but no patient is on both sides and all eleven labels are asked for."""
    train, test = hold_out_groups(_read_images(raw), "PatientID", 0.1)
    _place(train, test, SCORED_V2, raw, public, private)


def _read_images(raw: Path) -> pd.DataFrame:
    images = read_csv(raw / "train.csv", dtype={"StudyInstanceUID": str, "PatientID": str})
    require_unique(images["StudyInstanceUID"])
    return images


def _place(train: pd.DataFrame, test: pd.DataFrame, scored: list[str], raw: Path, public: Path, private: Path) -> None:
    annotations = read_csv(raw / "train_annotations.csv", dtype={"StudyInstanceUID": str})
    ids = test[["StudyInstanceUID"]]

    write_csv(train, public / "train.csv")
    known = annotations["StudyInstanceUID"].isin(train["StudyInstanceUID"])
    write_csv(annotations[known], public / "train_annotations.csv")
    write_csv(ids.assign(**dict.fromkeys(scored, 0)), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        names = part["StudyInstanceUID"] + ".jpg"
        link_files(((raw / "train" / name, folder / name) for name in names), f"placing {folder.name}")
