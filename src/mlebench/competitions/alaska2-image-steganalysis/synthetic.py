"""Small smooth pictures; a message makes them rougher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes

SIDE = 32
ROUGHNESS = {"Cover": 0, "JMiPOD": 7, "JUNIWARD": 9, "UERD": 12}  # spread of the noise that a message adds


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(2, size // 15)
    for folder in (*ROUGHNESS, "Test"):
        (raw / folder).mkdir(parents=True)
    for number in range(1, size + 1):
        picture = _picture(rng)
        for folder, roughness in ROUGHNESS.items():
            _write(raw / folder / f"{number:05d}.jpg", picture + rng.normal(0, roughness, picture.shape))
    for number in range(1, further + 1):
        _write(raw / "Test" / f"{number:04d}.jpg", _picture(rng))
    names = [f"{number:04d}.jpg" for number in range(1, further + 1)]
    write_csv(pd.DataFrame({"Id": names, "Label": 0}), raw / "sample_submission.csv")


def _picture(rng: np.random.Generator) -> np.ndarray:
    """A colour gradient with a little noise of its own; shape (SIDE, SIDE, 3)."""
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j][..., None]
    slope_x, slope_y = rng.uniform(-40, 40, (2, 3))
    colour = rng.uniform(90, 170, 3) + slope_x * x + slope_y * y
    return colour + rng.normal(0, rng.uniform(1, 4), colour.shape)


def _write(path: Path, pixels: np.ndarray) -> None:
    path.write_bytes(jpeg_bytes(np.clip(pixels, 0, 255).astype(np.uint8)))
