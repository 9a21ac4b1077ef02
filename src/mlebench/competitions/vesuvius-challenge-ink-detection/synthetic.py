"""Three fragments of papyrus in 65 slices; ink is a little brighter in the slices near the surface."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import image_bytes, png_bytes

SLICES, SURFACE = 65, range(26, 38)


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    """`size` is the height of a fragment in pixels: there are always three of them, and two dummies."""
    for name in ("1", "2", "3"):
        height, width = size + int(rng.integers(0, 9)), size * 4 // 5 + int(rng.integers(0, 9))
        papyrus, ink = _papyrus(height, width), _ink(rng, height, width)
        folder = raw / "train" / name
        slices = _write_slices(folder / "surface_volume", rng, papyrus, ink)
        light = np.where(papyrus, 170 - 90 * ink + rng.normal(0, 8, ink.shape), 0)
        (folder / "mask.png").write_bytes(png_bytes(papyrus.astype(np.uint8) * 255))
        (folder / "inklabels.png").write_bytes(png_bytes(ink.astype(np.uint8) * 255))
        (folder / "ir.png").write_bytes(png_bytes(np.clip(light, 0, 255).astype(np.uint8)))
        codes = encode_run_lengths(ink[None], row_by_row=True)
        write_csv(pd.DataFrame({"Id": [name], "Predicted": codes}), folder / "inklabels_rle.csv")
        if name == "1":
            _write_dummies(raw / "test", papyrus, slices)
    sample = pd.DataFrame({"Id": ["a", "b"], "Predicted": "1 1 5 1"})
    write_csv(sample, raw / "sample_submission.csv")


def _papyrus(height: int, width: int) -> np.ndarray:
    """Where there are data: an ellipse that nearly fills the picture."""
    rows, columns = np.mgrid[:height, :width]
    return ((2 * rows + 1) / height - 1) ** 2 + ((2 * columns + 1) / width - 1) ** 2 < 0.98


def _ink(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Strokes of letters, within the papyrus; bool, (height, width)."""
    ink = np.zeros((height, width), dtype=bool)
    for _ in range(max(6, height * width // 150)):
        row, column = rng.integers(2, height - 2), rng.integers(2, width - 2)
        tall, wide = ((2, 8), (8, 2))[rng.integers(0, 2)]
        ink[row : row + tall, column : column + wide] = True
    return ink & _papyrus(height, width)


def _write_slices(folder: Path, rng: np.random.Generator, papyrus: np.ndarray, ink: np.ndarray) -> list[bytes]:
    folder.mkdir(parents=True)
    slices = []
    for number in range(SLICES):
        grey = 20_000 + 12_000 * np.exp(-(((number - 32) / 12) ** 2)) + rng.normal(0, 900, ink.shape)
        grey += 2_500 * ink * (number in SURFACE)
        slices.append(image_bytes(np.where(papyrus, grey, 0).clip(0, 65_535).astype(np.uint16), "TIFF"))
        (folder / f"{number:02d}.tif").write_bytes(slices[-1])
    return slices


def _write_dummies(folder: Path, papyrus: np.ndarray, slices: list[bytes]) -> None:
    for name in ("a", "b"):
        volume = folder / name / "surface_volume"
        volume.mkdir(parents=True)
        (folder / name / "mask.png").write_bytes(png_bytes(papyrus.astype(np.uint8) * 255))
        (volume / "00.tif").write_bytes(slices[0])
