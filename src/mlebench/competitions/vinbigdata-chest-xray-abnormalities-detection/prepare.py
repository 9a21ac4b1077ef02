"""Hold out a random tenth of the images; their truth is the first box of each class."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, link_files, read_csv, write_csv

NO_FINDING = 14
CORNERS = ["x_min", "y_min", "x_max", "y_max"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    boxes = read_csv(raw / "train.csv")
    train_ids, test_ids = hold_out(pd.Series(boxes["image_id"].unique()), 0.1)
    answers = _first_boxes(boxes[boxes["image_id"].isin(test_ids)])

    write_csv(boxes[boxes["image_id"].isin(train_ids)], public / "train.csv")
    sample = pd.DataFrame({"image_id": test_ids, "PredictionString": f"{NO_FINDING} 1 0 0 1 1"})
    write_csv(sample, public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
    write_csv(_as_submission(answers), private / "gold_submission.csv")
    _link_dicoms(train_ids, raw / "train", public / "train")
    _link_dicoms(test_ids, raw / "train", public / "test")


def _first_boxes(boxes: pd.DataFrame) -> pd.DataFrame:
    """One row an image and class, the first value of each column that is not missing; a pixel for no finding."""
    first = boxes.groupby(["image_id", "class_id"])[["class_name", "rad_id", *CORNERS]].first().reset_index()
    first = first.fillna({"class_name": "0", "rad_id": "0", **dict.fromkeys(CORNERS, 0.0)})
    first.loc[first["class_id"] == NO_FINDING, ["x_max", "y_max"]] = 1.0
    return first


def _as_submission(answers: pd.DataFrame) -> pd.DataFrame:
    columns = [answers[name].tolist() for name in ("class_id", *CORNERS)]
    texts = pd.Series(
        [f"{label} 1.0 {left} {top} {right} {bottom}" for label, left, top, right, bottom in zip(*columns, strict=True)]
    )
    return texts.groupby(answers["image_id"]).agg(" ".join).rename("PredictionString").reset_index()


def _link_dicoms(ids: Iterable[str], source: Path, target: Path) -> None:
    link_files(((source / f"{name}.dicom", target / f"{name}.dicom") for name in ids), "placing images")
