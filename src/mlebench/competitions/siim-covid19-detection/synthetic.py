"""Small radiographs of the chest with bright opacities, whose number and place tell the grading of the study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes, hex_ids

COLUMNS = ["Negative for Pneumonia", "Typical Appearance", "Indeterminate Appearance", "Atypical Appearance"]
HEIGHT, WIDTH, SCALE = 40, 36, 20  # coordinates in the tables are those of the full-sized picture


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    """`size` is the number of labelled studies."""
    unlabelled = size // 8 + 1
    names = iter(hex_ids(rng, 6 * (size + unlabelled), 12))
    patients = hex_ids(rng, size, 12)
    studies, images, sample = [], [], []
    for place in range(size + unlabelled):
        study, grading = next(names), int(rng.choice(4, p=[0.3, 0.45, 0.15, 0.1]))
        folder = raw / ("train" if place < size else "test") / study
        patient = patients[int(rng.integers(0, size))]  # some come twice
        pictures = [
            _write_picture(rng, folder / next(names), next(names), grading, patient)
            for _ in range(1 + (rng.random() < 0.1))
        ]
        if place < size:
            studies.append([f"{study}_study", *(np.arange(4) == grading).astype(int).tolist()])
            images += [[f"{name}_image", *_texts(boxes), study] for name, boxes in pictures]
        else:
            sample.append([f"{study}_study", "negative 1 0 0 1 1"])
            sample += [[f"{name}_image", "none 1 0 0 1 1"] for name, _ in pictures]
    write_csv(pd.DataFrame(studies, columns=["id", *COLUMNS]), raw / "train_study_level.csv")
    table = pd.DataFrame(images, columns=["id", "boxes", "label", "StudyInstanceUID"])
    write_csv(table.iloc[rng.permutation(len(table))], raw / "train_image_level.csv")
    write_csv(pd.DataFrame(sample, columns=["id", "PredictionString"]), raw / "sample_submission.csv")


def _write_picture(
    rng: np.random.Generator, folder: Path, name: str, grading: int, patient: str
) -> tuple[str, np.ndarray]:
    """The name of a new picture and its boxes: x, y, width and height, (boxes, 4)."""
    places = {0: [], 1: [(4, 22), (21, 22)], 2: [(4, 12)], 3: [(21, 4)]}[grading]
    boxes = np.array([[x, y, 9, 11] for x, y in places]).reshape(-1, 4) + rng.integers(0, 4, (len(places), 4))
    picture = rng.normal(1800, 60, (HEIGHT, WIDTH))
    picture[3:37, 3:16] -= 800
    picture[3:37, 20:33] -= 800
    for x, y, width, height in boxes:
        picture[y : y + height, x : x + width] += 900
    folder.mkdir(parents=True)
    facts = {(0x0010, 0x0020): ("LO", patient)}
    uid = f"1.2.826.0.1.{int(name, 16)}"
    (folder / f"{name}.dcm").write_bytes(dicom_bytes(picture.clip(0, 4095).astype(np.uint16), uid, facts))
    return name, boxes * SCALE + rng.uniform(0, 1, boxes.shape).round(5)


def _texts(boxes: np.ndarray) -> tuple[str | None, str]:
    """The boxes in the two notations of the table."""
    if len(boxes) == 0:
        return None, "none 1 0 0 1 1"
    names = ("x", "y", "width", "height")
    listed = [{key: round(value, 5) for key, value in zip(names, box, strict=True)} for box in boxes.tolist()]
    corners = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]).round(5).tolist()
    return str(listed), " ".join(f"opacity 1 {a} {b} {c} {d}" for a, b, c, d in corners)
