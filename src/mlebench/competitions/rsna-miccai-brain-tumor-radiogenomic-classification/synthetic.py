"""Small scans of heads with a tumour, whose rim takes up more contrast agent if the promoter is methylated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes

SIDE = 20  # pixels
TEST_SHARE = 0.15  # of subjects without labels, to one with a label
FAULTY = (109, 123, 709)
BRAIN = {"FLAIR": 300, "T1w": 500, "T1wCE": 500, "T2w": 250}
TUMOUR = {"FLAIR": 700, "T1w": 350, "T1wCE": 400, "T2w": 650}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = size + max(1, round(size * TEST_SHARE))
    numbers = np.sort(rng.choice(max(1010, 2 * count), count, replace=False))
    is_train = np.isin(np.arange(count), rng.choice(count, size, replace=False))
    methylated = rng.integers(0, 2, count)
    subjects = pd.DataFrame({"BraTS21ID": [f"{number:05d}" for number in numbers], "MGMT_value": methylated})

    write_csv(subjects[is_train], raw / "train_labels.csv")
    write_csv(subjects[~is_train].assign(MGMT_value=0.5), raw / "sample_submission.csv")
    for number, positive, trained in zip(numbers, methylated, is_train, strict=True):
        folder = raw / ("train" if trained else "test") / f"{number:05d}"
        _write_scans(folder, rng, int(number), bool(positive))


def _write_scans(folder: Path, rng: np.random.Generator, number: int, methylated: bool) -> None:
    """Four series of one subject; slices are numbered from 1 or a later number."""
    x, y = rng.uniform(-0.35, 0.35, 2)
    radius = rng.uniform(0.2, 0.35)
    for series, name in enumerate(BRAIN):
        (folder / name).mkdir(parents=True)
        slices, first = rng.integers(3, 8 if name == "FLAIR" else 5), rng.choice([1, 1, 1, 7])
        for place in range(slices):
            depth = 1 - abs(2 * place / (slices - 1) - 1)  # 0 at both ends of the head, 1 in its middle
            pixels = _slice(rng, name, (x, y, radius * depth), methylated)
            if number in FAULTY and name == "FLAIR":
                pixels = np.zeros_like(pixels)
            facts = {
                (0x0008, 0x0060): ("CS", "MR"),
                (0x0008, 0x103E): ("LO", name),
                (0x0010, 0x0020): ("LO", f"{number:05d}"),
                (0x0020, 0x0013): ("IS", str(first + place)),
            }
            content = dicom_bytes(pixels, f"2.25.{number + 1}.{series}.{place}", facts)
            (folder / name / f"Image-{first + place}.dcm").write_bytes(content)


def _slice(rng: np.random.Generator, series: str, tumour: tuple[float, float, float], methylated: bool) -> np.ndarray:
    """Brightness as uint16, shape (SIDE, SIDE)."""
    x, y = np.meshgrid(np.linspace(-1, 1, SIDE), np.linspace(-1, 1, SIDE))
    left, top, radius = tumour
    distance = np.hypot(x - left, y - top)
    pixels = np.where(np.hypot(x, y) < 0.9, BRAIN[series], 0) + rng.normal(0, 20, (SIDE, SIDE))
    pixels[distance < radius] = TUMOUR[series]
    if series == "T1wCE":
        pixels[np.abs(distance - radius) < 0.08] = 1000 if methylated else 750
    return np.clip(pixels, 0, 4095).astype(np.uint16)
