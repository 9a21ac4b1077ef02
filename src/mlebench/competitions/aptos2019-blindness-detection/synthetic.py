"""Small retinas: the worse the grade, the more dark red bleedings and pale deposits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, png_bytes

GRADE_SHARES = [0.49, 0.10, 0.27, 0.06, 0.08]
SPOTS = [0, 3, 7, 13, 22]  # about how many a retina of each grade has
TISSUE, BLEEDING, DEPOSIT = np.array([[170.0, 80.0, 40.0], [70.0, 10.0, 5.0], [250.0, 230.0, 120.0]])
DUPLICATES = 0.06  # share of photographs that stand there twice, the second time with another id and perhaps grade


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    ids = hex_ids(rng, size + max(1, size // 2), 12)
    ids[0], ids[1] = "00" + ids[0][2:-1] + "f", "0" + "1" * 11  # one that needs a text column, one of digits only
    grades = rng.choice(5, len(ids), p=GRADE_SHARES)
    grades[:5] = range(min(5, len(ids)))
    photographs = pd.DataFrame({"id_code": ids, "diagnosis": grades})
    train, test = photographs.iloc[:size], photographs.iloc[size:]

    write_csv(train, raw / "train.csv")
    write_csv(test[["id_code"]], raw / "test.csv")
    write_csv(test[["id_code"]].assign(diagnosis=0), raw / "sample_submission.csv")
    _write_photographs(raw / "train_images", train, rng)
    _write_photographs(raw / "test_images", test, rng)


def _write_photographs(folder: Path, photographs: pd.DataFrame, rng: np.random.Generator) -> None:
    folder.mkdir(parents=True)
    content = b""
    for name, grade in photographs.itertuples(index=False):
        if not content or rng.random() >= DUPLICATES:
            content = png_bytes(_retina(int(grade), rng))
        (folder / f"{name}.png").write_bytes(content)


def _retina(grade: int, rng: np.random.Generator) -> np.ndarray:
    """RGB pixels of a disc on black, width and height from 40 to 63, exposure and focus at random."""
    height, width = rng.integers(40, 64, 2)
    y, x = np.ogrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    pixels = np.empty((height, width, 3))
    pixels[:] = TISSUE * rng.uniform(0.85, 1.15)
    for _ in range(rng.poisson(SPOTS[grade])):
        centre_x, centre_y = rng.uniform(-0.7, 0.7, 2)
        spot = (x - centre_x) ** 2 + (y - centre_y) ** 2 < rng.uniform(0.06, 0.14) ** 2
        pixels[spot] = BLEEDING if rng.random() < 0.7 else DEPOSIT
    pixels[x**2 + y**2 > rng.uniform(0.85, 1.1)] = 0
    return np.clip(pixels, 0, 255).astype(np.uint8)
