"""Small patches of dry ground from above; a cactus is a pale green column with its shadow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes, write_zip

SIDE = 32  # pixels
CACTUS_SHARE = 0.75
GROUND, SHRUB, CACTUS, SHADOW = np.array([[150, 130, 115], [100, 105, 80], [150, 180, 130], [75, 65, 60]])


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = size + max(1, size // 4)
    has_cactus = (rng.random(count) < CACTUS_SHARE).astype(int)
    has_cactus[:size:7], has_cactus[1:size:7] = 0, 1  # both classes on both sides, however small the twin is
    pictures = pd.DataFrame({"id": [f"{name}.jpg" for name in hex_ids(rng, count, 32)], "has_cactus": has_cactus})
    train, test = pictures.iloc[:size].sort_values("id"), pictures.iloc[size:].sort_values("id")

    write_csv(train, raw / "train.csv")
    write_csv(test.assign(has_cactus=0.5), raw / "sample_submission.csv")
    for part, name in ((train, "train"), (test, "test")):
        members = {f"{name}/{file}": jpeg_bytes(_picture(rng, bool(cactus))) for file, cactus in part.to_numpy()}
        write_zip(raw / f"{name}.zip", members)


def _picture(rng: np.random.Generator, cactus: bool) -> np.ndarray:
    """RGB pixels, shape (SIDE, SIDE, 3)."""
    pixels = GROUND + rng.normal(0, 12, (SIDE, SIDE, 1)) + rng.normal(0, 12)
    y, x = np.mgrid[:SIDE, :SIDE]
    for _ in range(rng.integers(0, 4)):
        left, top = rng.integers(0, SIDE, 2)
        pixels[(x - left) ** 2 + (y - top) ** 2 < rng.integers(4, 30)] = SHRUB
    if cactus:
        left, top, length = rng.integers(4, 24), rng.integers(2, 12), rng.integers(10, 18)
        upright = (y >= top) & (y < top + length)
        pixels[upright & (x >= left) & (x < left + 3)] = CACTUS + rng.normal(0, 8)
        pixels[upright & (x >= left + 3) & (x < left + 5)] = SHADOW
    return np.clip(pixels, 0, 255).astype(np.uint8)
