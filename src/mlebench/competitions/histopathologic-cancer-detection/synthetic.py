"""Small patches of tissue: cells are violet spots, those of a tumour large and dark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, image_bytes

SIDE, CENTRE = 96, 32  # pixels
POSITIVE_SHARE = 0.4
TEST_SHARE = 0.26  # of pictures without labels, to one with a label
TISSUE, CELL, TUMOUR = np.array([[225, 180, 210], [150, 90, 165], [85, 30, 110]])


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = size + max(1, round(size * TEST_SHARE))
    label = (rng.random(count) < POSITIVE_SHARE).astype(int)
    label[:size:7], label[1:size:7] = 0, 1  # both classes on both sides, however small the twin is
    patches = pd.DataFrame({"id": hex_ids(rng, count, 40), "label": label})
    train, test = patches.iloc[:size], patches.iloc[size:]

    write_csv(train, raw / "train_labels.csv")
    write_csv(test.assign(label=0), raw / "sample_submission.csv")
    for part, folder in ((train, raw / "train"), (test, raw / "test")):
        folder.mkdir(parents=True)
        for name, positive in part.to_numpy():
            (folder / f"{name}.tif").write_bytes(image_bytes(_patch(rng, bool(positive)), "TIFF"))


def _patch(rng: np.random.Generator, positive: bool) -> np.ndarray:
    """RGB pixels; in a positive patch tumour cells lie in the centre, in others now and then in the border."""
    pixels = TISSUE + rng.normal(0, 6, (SIDE, SIDE, 1)) + rng.normal(0, 8)
    for x, y in rng.integers(0, SIDE, (rng.integers(10, 25), 2)):
        _draw(pixels, x, y, int(rng.integers(2, 5)), CELL)
    low, high = (SIDE - CENTRE) // 2, (SIDE + CENTRE) // 2
    if positive:
        for x, y in rng.integers(low + 4, high - 4, (rng.integers(2, 7), 2)):
            _draw(pixels, x, y, int(rng.integers(4, 8)), TUMOUR)
    elif rng.random() < 0.2:
        x, y = int(rng.integers(8, SIDE - 8)), int(rng.choice([8, SIDE - 8]))
        _draw(pixels, x, y, int(rng.integers(4, 8)), TUMOUR)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def _draw(pixels: np.ndarray, x: int, y: int, radius: int, colour: np.ndarray) -> None:
    rows, columns = np.ogrid[:SIDE, :SIDE]
    pixels[(columns - x) ** 2 + (rows - y) ** 2 < radius**2] = colour
