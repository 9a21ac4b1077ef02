"""Hold out a random tenth of the patients; a row of the tables is a picture, one of the answers a breast."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out_groups, link_files, read_csv, write_csv

KNOWN = ["site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out_groups(read_csv(raw / "train.csv"), "patient_id", 0.1, seed=42)
    test = test.assign(prediction_id=test["patient_id"].map(str) + "_" + test["laterality"])
    answers = test.groupby("prediction_id")["cancer"].first().reset_index()

    write_csv(train, public / "train.csv")
    write_csv(test[[*KNOWN, "prediction_id"]], public / "test.csv")
    write_csv(answers.assign(cancer=train["cancer"].mean()), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
    _link_pictures(train, raw / "train_images", public / "train_images")
    _link_pictures(test, raw / "train_images", public / "test_images")


def _link_pictures(rows: pd.DataFrame, source: Path, target: Path) -> None:
    names = rows["patient_id"].map(str) + "/" + rows["image_id"].map(str) + ".dcm"
    link_files(((source / name, target / name) for name in names), f"placing {target.name}")
