"""Small chest radiographs with bright findings, each class at its own place, drawn by three readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes, hex_ids

CLASSES = [
    "Aortic enlargement",
    "Atelectasis",
    "Calcification",
    "Cardiomegaly",
    "Consolidation",
    "ILD",
    "Infiltration",
    "Lung Opacity",
    "Nodule/Mass",
    "Other lesion",
    "Pleural effusion",
    "Pleural thickening",
    "Pneumothorax",
    "Pulmonary fibrosis",
    "No finding",
]
NO_FINDING = 14
HEIGHT, WIDTH = 64, 56
CORNERS = ["x_min", "y_min", "x_max", "y_max"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = size // 5 + 1
    ids = hex_ids(rng, size + unlabelled, 32)
    rows = []
    for place, name in enumerate(ids):
        findings = _findings(rng)
        folder = raw / ("train" if place < size else "test")
        folder.mkdir(parents=True, exist_ok=True)
        sex = ("CS", str(rng.choice(["F", "M", "O"])))
        content = dicom_bytes(_image(rng, findings), f"1.2.826.0.1.{place + 1}", {(0x0010, 0x0040): sex})
        (folder / f"{name}.dicom").write_bytes(content)
        if place < size:
            rows += _readings(rng, name, findings)
    train = pd.DataFrame(rows, columns=["image_id", "class_name", "class_id", "rad_id", *CORNERS])

    write_csv(train.iloc[rng.permutation(len(train))], raw / "train.csv")
    sample = pd.DataFrame({"image_id": ids[size:], "PredictionString": "14 1 0 0 1 1"})
    write_csv(sample, raw / "sample_submission.csv")


def _findings(rng: np.random.Generator) -> dict[int, Sequence[int]]:
    """Class and box; none in half of the images. A class has its place, which varies by a few pixels."""
    if rng.random() < 0.5:
        return {}
    found = rng.choice(NO_FINDING, rng.integers(1, 4), replace=False, p=_FREQUENCY)
    boxes = {}
    for label in sorted(found.tolist()):
        left, top = 4 + 10 * (label % 4) + rng.integers(0, 4), 4 + 13 * (label // 4) + rng.integers(0, 4)
        boxes[label] = [left, top, left + 6 + label % 3 + rng.integers(0, 3), top + 8 + rng.integers(0, 3)]
    return boxes


_FREQUENCY = np.arange(NO_FINDING, 0, -1) / np.arange(NO_FINDING, 0, -1).sum()


def _image(rng: np.random.Generator, findings: dict[int, Sequence[int]]) -> np.ndarray:
    """Two dark lungs in a grey chest, every finding a bright box; uint16, of 12 bits."""
    image = rng.normal(2000, 60, (HEIGHT, WIDTH))
    image[6:58, 6:25] -= 900
    image[6:58, 31:50] -= 900
    for left, top, right, bottom in findings.values():
        image[top:bottom, left:right] = rng.normal(3300, 60, (bottom - top, right - left))
    return np.clip(image, 0, 4095).astype(np.uint16)


def _readings(rng: np.random.Generator, name: str, findings: dict[int, Sequence[int]]) -> list[list[object]]:
    """What three of the 17 readers saw: each box shifted a little, or one row without a box."""
    rows: list[list[object]] = []
    for reader in rng.choice(np.arange(1, 18), 3, replace=False):
        if not findings:
            rows.append([name, CLASSES[NO_FINDING], NO_FINDING, f"R{reader}", *[np.nan] * 4])
        for label, box in findings.items():
            shifted = np.asarray(box, dtype=float) + rng.integers(-1, 2, 4)
            rows.append([name, CLASSES[label], label, f"R{reader}", *shifted.tolist()])
    return rows
