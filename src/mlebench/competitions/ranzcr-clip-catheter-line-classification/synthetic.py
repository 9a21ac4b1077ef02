"""Grey chests with bright lines: each label has its own course, which varies a little.

Images of a patient are alike: the same frame of the chest, and mostly the same lines.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes

HEIGHT, WIDTH = 48, 56  # pixels; the real ones have about 2000 and 2500
# Label, share of the images and course: points [x, y] from 0 to 1. Rare labels are more frequent than in truth, so
# that a small test has them.
LINES = {
    "ETT - Abnormal": (0.3, [[0.5, 0.0], [0.47, 0.3], [0.38, 0.48]]),
    "ETT - Borderline": (0.3, [[0.5, 0.0], [0.5, 0.18]]),
    "ETT - Normal": (0.3, [[0.5, 0.0], [0.5, 0.3]]),
    "NGT - Abnormal": (0.3, [[0.56, 0.0], [0.56, 0.45], [0.72, 0.6]]),
    "NGT - Borderline": (0.3, [[0.56, 0.0], [0.56, 0.7]]),
    "NGT - Incompletely Imaged": (0.35, [[0.56, 0.0], [0.57, 0.5], [0.62, 1.0]]),
    "NGT - Normal": (0.3, [[0.56, 0.0], [0.56, 0.8], [0.78, 0.88]]),
    "CVC - Abnormal": (0.35, [[0.15, 0.1], [0.3, 0.12], [0.32, 0.0]]),
    "CVC - Borderline": (0.3, [[0.15, 0.1], [0.4, 0.16]]),
    "CVC - Normal": (0.6, [[0.15, 0.1], [0.4, 0.16], [0.44, 0.5]]),
    "Swan Ganz Catheter Present": (0.3, [[0.2, 0.05], [0.42, 0.6], [0.6, 0.62], [0.35, 0.4]]),
}
LABELS = list(LINES)
ANNOTATED_SHARE = 0.3  # of the images
IMAGES_A_PATIENT = 3
TEST_SHARE = 0.12  # of images without labels, to one with labels


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    images = _images(rng, size)
    _write_images(raw / "train", rng, images)
    write_csv(images, raw / "train.csv")
    write_csv(_annotations(rng, images), raw / "train_annotations.csv")
    unlabelled = _images(rng, max(1, round(size * TEST_SHARE)))
    _write_images(raw / "test", rng, unlabelled)
    sample = unlabelled[["StudyInstanceUID"]].assign(**dict.fromkeys(LABELS, 0))
    write_csv(sample, raw / "sample_submission.csv")


def _images(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Id, labels and patient; a label mostly holds for all images of a patient or for none."""
    patients = hex_ids(rng, max(4, count // IMAGES_A_PATIENT), 9)
    patients[0] = "0" + "1234567890"[:8]  # of digits only
    patient = rng.integers(0, len(patients), count)
    shares = np.array([share for share, _ in LINES.values()])
    usual = rng.random((len(patients), len(LABELS))) < shares
    labels = np.where(rng.random((count, len(LABELS))) < 0.5, usual[patient], rng.random((count, len(LABELS))) < shares)
    digits = rng.integers(0, 10, (count, 38)).astype(str)
    ids = ["1.2.826.0.1.3680043.8.498." + "".join(row) for row in digits]
    table = pd.DataFrame(labels.astype(int), columns=LABELS)
    table.insert(0, "StudyInstanceUID", ids)
    return table.assign(PatientID=np.array(patients)[patient])


def _write_images(folder: Path, rng: np.random.Generator, images: pd.DataFrame) -> None:
    folder.mkdir(parents=True)
    frames: dict[str, np.ndarray] = {}
    for name, *labels, patient in images.to_numpy():
        frame = frames.setdefault(patient, _chest(rng))
        pixels = frame + rng.normal(0, 4, frame.shape)
        for label, holds in zip(LABELS, labels, strict=True):
            if holds:
                _draw(pixels, _course(rng, label))
        (folder / f"{name}.jpg").write_bytes(jpeg_bytes(np.clip(pixels, 0, 255).astype(np.uint8)))


def _chest(rng: np.random.Generator) -> np.ndarray:
    """Grey values: two dark lungs in a lighter body; each patient's are a little different."""
    y, x = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    pixels = np.full((HEIGHT, WIDTH), rng.uniform(110, 140))
    for side in (-1, 1):
        lung = ((x - side * 0.45) / rng.uniform(0.25, 0.35)) ** 2 + (y / rng.uniform(0.6, 0.8)) ** 2 < 1
        pixels[lung] = rng.uniform(50, 80)
    return pixels


def _course(rng: np.random.Generator, label: str) -> np.ndarray:
    """Points [x, y] from 0 to 1."""
    points = np.array(LINES[label][1])
    return np.clip(points + rng.normal(0, 0.008, points.shape), 0, 1)


def _draw(pixels: np.ndarray, points: np.ndarray) -> None:
    steps = np.linspace(0, len(points) - 1, 60)
    x, y = (np.interp(steps, np.arange(len(points)), axis) for axis in points.T)
    pixels[np.round(y * (HEIGHT - 1)).astype(int), np.round(x * (WIDTH - 1)).astype(int)] = 230


def _annotations(rng: np.random.Generator, images: pd.DataFrame) -> pd.DataFrame:
    """The course of each line in some of the images, in pixels."""
    rows = []
    for name, *labels, _ in images[rng.random(len(images)) < ANNOTATED_SHARE].to_numpy():
        for label, holds in zip(LABELS, labels, strict=True):
            if holds:
                points = np.round(_course(rng, label) * (WIDTH - 1, HEIGHT - 1)).astype(int)
                rows.append((name, label, json.dumps(points.tolist())))
    return pd.DataFrame(rows, columns=["StudyInstanceUID", "label", "data"])
