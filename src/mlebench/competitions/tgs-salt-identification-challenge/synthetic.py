"""Layered rock with lighter, smoother salt in it: discs, slopes, whole pictures, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, png_bytes, write_zip

SIDE = 101
ROWS, COLUMNS = np.mgrid[:SIDE, :SIDE]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = size // 2 + 1
    ids = hex_ids(rng, size + unlabelled, 10)
    members: dict[str, bytes | str] = {}
    codes = []
    for place, name in enumerate(ids):
        mask = _mask(rng)
        side = "train" if place < size else "test"
        members[f"competition_data/{side}/images/{name}.png"] = png_bytes(_image(rng, mask))
        if place < size:
            members[f"competition_data/train/masks/{name}.png"] = png_bytes(mask.astype(np.uint16) * 65535)
            codes += encode_run_lengths(mask[None])
    train = pd.DataFrame({"id": ids[:size], "rle_mask": codes})
    members["competition_data/train.csv"] = train.to_csv(index=False, lineterminator="\n")

    write_zip(raw / "competition_data.zip", members)
    write_csv(train, raw / "train.csv")
    write_csv(pd.DataFrame({"id": ids[size:]}).assign(rle_mask="1 1"), raw / "sample_submission.csv")
    depths = pd.DataFrame({"id": ids, "z": rng.integers(50, 960, len(ids))})
    write_csv(depths.iloc[rng.permutation(len(ids))], raw / "depths.csv")


def _mask(rng: np.random.Generator) -> np.ndarray:
    """Which pixels are salt: none in 4 of 10 pictures, all in 1 of 10."""
    shape = rng.choice(["none", "all", "disc", "slope"], p=[0.4, 0.1, 0.25, 0.25])
    if shape == "disc":
        row, column, radius = rng.integers(20, 80), rng.integers(20, 80), rng.integers(12, 40)
        return (ROWS - row) ** 2 + (COLUMNS - column) ** 2 < radius**2
    if shape == "slope":
        return rng.normal(scale=0.5) * (COLUMNS - 50) + rng.integers(20, 80) < ROWS
    return np.full((SIDE, SIDE), shape == "all")


def _image(rng: np.random.Generator, mask: np.ndarray) -> np.ndarray:
    """A grey RGB picture, uint8: layers that undulate, and light, even salt."""
    waves = ROWS / rng.uniform(2, 5) + 3 * np.sin(COLUMNS / rng.uniform(10, 30))
    light = np.where(mask, 170, 90 + 30 * np.sin(waves)) + 8 * rng.integers(-2, 3, mask.shape)
    return np.repeat(light.astype(np.uint8)[:, :, None], 3, axis=2)
