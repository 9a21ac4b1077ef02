"""Seedlings on gravel, seen from above: species differ in the number of leaves, their length and colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, png_bytes

# Share, number of leaves, and width of a leaf in pixels.
SPECIES = {
    "Black-grass": (0.055, 2, 1),
    "Charlock": (0.082, 4, 5),
    "Cleavers": (0.060, 6, 3),
    "Common Chickweed": (0.128, 4, 3),
    "Common wheat": (0.047, 1, 2),
    "Fat Hen": (0.100, 5, 4),
    "Loose Silky-bent": (0.137, 3, 1),
    "Maize": (0.047, 2, 5),
    "Scentless Mayweed": (0.109, 8, 1),
    "Shepherds Purse": (0.049, 7, 2),
    "Small-flowered Cranesbill": (0.104, 3, 6),
    "Sugar beet": (0.082, 2, 3),
}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    names = list(SPECIES)
    shares = np.array([share for share, _, _ in SPECIES.values()])
    unlabelled = size // 6 + 1
    species = rng.choice(len(names), size + unlabelled, p=shares / shares.sum())
    files = [f"{name}.png" for name in hex_ids(rng, size + unlabelled, 9)]

    for name in names:
        (raw / "train" / name).mkdir(parents=True)
    (raw / "test").mkdir()
    for number, (file, kind) in enumerate(zip(files, species.tolist(), strict=True)):
        folder = raw / "train" / names[kind] if number < size else raw / "test"
        (folder / file).write_bytes(png_bytes(_seedling(rng, kind)))
    sample = pd.DataFrame({"file": files[size:], "species": "Sugar beet"})
    write_csv(sample, raw / "sample_submission.csv")


def _seedling(rng: np.random.Generator, kind: int) -> np.ndarray:
    """RGB pixels, width and height from 32 to 55: leaves in a star around the middle."""
    _, leaves, width = list(SPECIES.values())[kind]
    side = int(rng.integers(32, 56))
    y, x = np.mgrid[:side, :side] - side / 2
    pixels = np.repeat(120 + 8 * rng.integers(-3, 4, (side, side, 1)), 3, axis=2)
    green = np.array([30 + 6 * kind, 150 - 5 * kind, 40 + 4 * (kind % 3)]) + rng.integers(-5, 6)
    for angle in rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(leaves) / leaves:
        along, across = x * np.cos(angle) + y * np.sin(angle), x * np.sin(angle) - y * np.cos(angle)
        leaf = (along >= 0) & (along < side * rng.uniform(0.3, 0.45)) & (np.abs(across) <= width / 2)
        pixels[leaf] = green
    return np.clip(pixels, 0, 255).astype(np.uint8)
