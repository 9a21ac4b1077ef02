"""Scans of a few slices with three organs, each of its own brightness; patients are scanned on one to six days."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import png_bytes

CLASSES = ["large_bowel", "small_bowel", "stomach"]
SIZES = [(24, 24), (28, 24), (20, 26)]  # width and height of a patient's slices
BRIGHTNESS = [9_000, 14_000, 20_000]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    """`size` is the number of patients, at least two."""
    tables = []
    for case in rng.permutation(np.arange(1, 10 * size))[:size]:
        width, height = SIZES[rng.integers(0, len(SIZES))]
        for day in np.sort(rng.permutation(np.arange(40))[: rng.integers(1, 7)]):
            masks = _organs(rng, int(rng.integers(3, 7)), height, width)
            folder = raw / "train" / f"case{case}" / f"case{case}_day{day}" / "scans"
            _write_slices(folder, rng, masks)
            tables.append(_rows(f"case{case}_day{day}", masks))
    write_csv(pd.concat(tables), raw / "train.csv")
    write_csv(pd.DataFrame(columns=["id", "class", "predicted"]), raw / "sample_submission.csv")


def _organs(rng: np.random.Generator, slices: int, height: int, width: int) -> np.ndarray:
    """Bool, (slices, classes, height, width): an organ is a disc that drifts, in some of the slices only."""
    rows, columns = np.mgrid[:height, :width]
    masks = np.zeros((slices, len(CLASSES), height, width), dtype=bool)
    for organ, place in enumerate([(7, 7), (13, 14), (6, 16)]):
        first, last = np.sort(rng.integers(0, slices + 1, 2))
        path = place + np.cumsum(rng.uniform(-1, 1, (slices, 2)), axis=0)
        for layer in range(first, last):
            row, column = path[layer]
            masks[layer, organ] = (rows - row) ** 2 + (columns - column) ** 2 < rng.uniform(2, 5) ** 2
    return masks


def _write_slices(folder: Path, rng: np.random.Generator, masks: np.ndarray) -> None:
    folder.mkdir(parents=True)
    slices, _, height, width = masks.shape
    light = (
        3_000 + (masks * np.reshape(BRIGHTNESS, (1, 3, 1, 1))).max(axis=1) + rng.normal(0, 400, (slices, height, width))
    )
    for number, picture in enumerate(light.clip(0, 65_535).astype(np.uint16), start=1):
        (folder / f"slice_{number:04d}_{width}_{height}_1.50_1.50.png").write_bytes(png_bytes(picture))


def _rows(scan: str, masks: np.ndarray) -> pd.DataFrame:
    slices, classes, height, width = masks.shape
    return pd.DataFrame(
        {
            "id": np.repeat([f"{scan}_slice_{number:04d}" for number in range(1, slices + 1)], classes),
            "class": CLASSES * slices,
            "segmentation": encode_run_lengths(masks.reshape(-1, height, width)),
        }
    )
