"""Heads in all colours: those of cats have pointed ears and whiskers, those of dogs hanging ears and a dark nose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes, write_zip


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    cats = (size + 1) // 2
    names = [f"cat.{k}" for k in range(cats)] + [f"dog.{k}" for k in range(size - cats)]
    labelled = {f"train/{name}.jpg": jpeg_bytes(_head(name.startswith("dog"), rng)) for name in names}
    count = max(1, size // 2)
    unlabelled = {f"test/{k}.jpg": jpeg_bytes(_head(rng.random() < 0.5, rng)) for k in range(1, count + 1)}

    write_zip(raw / "train.zip", {"train/": b"", **labelled})
    write_zip(raw / "test.zip", {"test/": b"", **unlabelled})
    write_csv(pd.DataFrame({"id": range(1, count + 1)}).assign(label=0.5), raw / "sample_submission.csv")


def _head(is_dog: bool, rng: np.random.Generator) -> np.ndarray:
    """RGB pixels; width and height from 32 to 47. A tenth of the heads have no ears to be told by."""
    height, width = rng.integers(32, 48, 2)
    y, x = np.ogrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    pixels = np.empty((height, width, 3))
    pixels[:] = rng.uniform(120, 255, 3)
    fur = rng.uniform(30, 200, 3)
    x, y = x - rng.uniform(-0.15, 0.15), y - rng.uniform(-0.15, 0.15)
    pixels[x**2 + y**2 < 0.55**2] = fur
    if rng.random() < 0.9:
        pixels[_hanging_ears(x, y) if is_dog else _pointed_ears(x, y)] = fur * 0.6
    pixels[x**2 + (y - 0.15) ** 2 < (0.16 if is_dog else 0.06) ** 2] = 15
    return np.clip(pixels + rng.normal(0, 8, pixels.shape), 0, 255).astype(np.uint8)


def _pointed_ears(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (y > -0.9) & (y < -0.3) & (np.abs(np.abs(x) - 0.4) < (y + 0.9) / 3)


def _hanging_ears(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((np.abs(x) - 0.55) / 0.18) ** 2 + ((y - 0.1) / 0.5) ** 2 < 1
