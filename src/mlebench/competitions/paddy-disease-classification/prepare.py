"""Hold out a random quarter of the labelled photographs."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    photographs = read_csv(raw / "train.csv")
    _require_filled(photographs[["image_id", "label"]])
    require_unique(photographs["image_id"])
    train, test = hold_out(photographs, len(photographs) - math.floor(0.75 * len(photographs)))

    write_csv(train, public / "train.csv")
    write_csv(test[["image_id"]].assign(label=""), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, folder, names in (
        (train, public / "train_images", train["label"] + "/" + train["image_id"]),
        (test, public / "test_images", test["image_id"]),
    ):
        sources = part["label"] + "/" + part["image_id"]
        pairs = zip(sources, names, strict=True)
        link_files(((raw / "train_images" / source, folder / name) for source, name in pairs), f"placing {folder.name}")


def _require_filled(columns: pd.DataFrame) -> None:
    if gaps := int(columns.isna().any(axis=1).sum()):
        raise PreparationError(f"{gaps:,} rows of train.csv lack image_id or label")
