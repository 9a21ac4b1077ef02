"""Small mammograms; a cancer is a bright spot in both views of the breast."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes

KNOWN = ["site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id"]
COLUMNS = [
    "site_id",
    "patient_id",
    "image_id",
    "laterality",
    "view",
    "age",
    "cancer",
    "biopsy",
    "invasive",
    "BIRADS",
    "implant",
    "density",
    "machine_id",
    "difficult_negative_case",
]
MACHINES = [29, 48, 49, 93, 170, 210]
HEIGHT, WIDTH = 24, 20


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    patients = np.sort(rng.choice(np.arange(1, 20 * size + 100), size + 1, replace=False))
    ill = rng.random(size + 1) < 0.15  # more than in truth, so that a small test has some
    ill[rng.permutation(size + 1)[: max(4, size // 8)]] = True
    rows = [row for patient, is_ill in zip(patients, ill, strict=True) for row in _pictures(rng, int(patient), is_ill)]
    pictures = pd.DataFrame(rows, columns=COLUMNS)
    pictures["image_id"] = rng.choice(np.arange(10_000, 2_147_000_000, 5_003), len(pictures), replace=False)
    for number, patient, cancer in pictures[["image_id", "patient_id", "cancer"]].itertuples(index=False):
        folder = raw / ("test_images" if patient == patients[-1] else "train_images") / str(patient)
        folder.mkdir(parents=True, exist_ok=True)
        content = dicom_bytes(_mammogram(rng, bool(cancer)), f"1.2.826.0.1.{number}")
        (folder / f"{number}.dcm").write_bytes(content)
    of_test = pictures["patient_id"] == patients[-1]
    test = pictures.loc[of_test, KNOWN]
    test["prediction_id"] = test["patient_id"].map(str) + "_" + test["laterality"]

    write_csv(pictures[~of_test], raw / "train.csv")
    write_csv(test, raw / "test.csv")
    sample = test[["prediction_id"]].drop_duplicates().assign(cancer=0.021168)
    write_csv(sample, raw / "sample_submission.csv")


def _pictures(rng: np.random.Generator, patient: int, ill: bool) -> list[list[object]]:
    """The rows of one patient: two views of each side, now and then a third."""
    site = int(rng.choice([1, 2]))
    age = float(rng.integers(35, 90)) if rng.random() < 0.95 else None
    density = rng.choice(list("ABCD")) if site == 1 else None
    machine, implant = int(rng.choice(MACHINES)), int(rng.random() < 0.03)
    diseased = str(rng.choice(["L", "R"])) if ill else ""
    rows = []
    for side in ("L", "R"):
        cancer = int(side == diseased)
        biopsy = cancer or int(rng.random() < 0.04)
        rating = (0.0 if biopsy else float(rng.choice([1, 2]))) if rng.random() < 0.5 else None
        findings = [biopsy, int(cancer and rng.random() < 0.7), rating]
        views = ["CC", "MLO"] + (["AT"] if rng.random() < 0.05 else [])
        hard = bool(not cancer and rng.random() < 0.14)
        rows += [
            [site, patient, 0, side, view, age, cancer, *findings, implant, density, machine, hard] for view in views
        ]
    return rows


def _mammogram(rng: np.random.Generator, cancer: bool) -> np.ndarray:
    """Pixels of 12 bits: half a disc of tissue at the left edge, and perhaps a bright spot in it."""
    row, column = np.ogrid[:HEIGHT, :WIDTH]
    pixels = rng.normal(100, 20, (HEIGHT, WIDTH))
    tissue = (row - 11.5) ** 2 + column**2 < rng.integers(12, 17) ** 2
    pixels[tissue] += rng.uniform(900, 1500)
    if cancer:
        spot = (row - rng.integers(6, 18)) ** 2 + (column - rng.integers(2, 9)) ** 2 < rng.uniform(2, 3) ** 2
        pixels[spot] += 1500
    return np.clip(pixels, 0, 4095).astype(np.uint16)
