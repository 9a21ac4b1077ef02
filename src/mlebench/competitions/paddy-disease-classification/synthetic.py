"""Leaves of rice: each disease has its colour, and streaks or spots; some varieties suffer more than others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes

# Share and colour of each class; those with a long name have streaks, the others spots.
CLASSES = {
    "bacterial_leaf_blight": (0.05, (200, 180, 90)),
    "bacterial_leaf_streak": (0.04, (150, 110, 30)),
    "bacterial_panicle_blight": (0.03, (220, 190, 150)),
    "blast": (0.17, (110, 110, 110)),
    "brown_spot": (0.09, (100, 50, 20)),
    "dead_heart": (0.14, (230, 220, 170)),
    "downy_mildew": (0.06, (180, 210, 190)),
    "hispa": (0.15, (240, 240, 240)),
    "normal": (0.17, (60, 140, 50)),
    "tungro": (0.10, (230, 160, 20)),
}
VARIETIES = [
    *("ADT45", "AndraPonni", "AtchayaPonni", "IR20", "KarnatakaPonni"),
    *("Onthanel", "Ponni", "RR", "Surya", "Zonal"),
]
AGES = [45, 47, 50, 55, 57, 60, 62, 65, 66, 67, 68, 70, 72, 73, 75, 77, 80, 82]
HEIGHT, WIDTH = 48, 36


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    names = list(CLASSES)
    shares = np.array([share for share, _ in CLASSES.values()])
    labels = np.sort(rng.choice(len(names), size, p=shares / shares.sum()))
    numbers = 100_001 + rng.choice(2 * size, size, replace=False)
    train = pd.DataFrame(
        {
            "image_id": [f"{number}.jpg" for number in numbers],
            "label": [names[label] for label in labels],
            "variety": np.where(rng.random(size) < 0.65, "ADT45", rng.choice(VARIETIES, size)),
            "age": rng.choice(AGES, size),
        }
    )
    unlabelled = [f"{200_001 + number}.jpg" for number in range(size // 3 + 1)]

    write_csv(train, raw / "train.csv")
    write_csv(pd.DataFrame({"image_id": unlabelled, "label": ""}), raw / "sample_submission.csv")
    for name, label in zip(train["image_id"], train["label"], strict=True):
        _write(raw / "train_images" / label / name, rng, label)
    for name in unlabelled:
        _write(raw / "test_images" / name, rng, rng.choice(names))


def _write(file: Path, rng: np.random.Generator, label: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(jpeg_bytes(_leaf(rng, label)))


def _leaf(rng: np.random.Generator, label: str) -> np.ndarray:
    """RGB pixels of a green leaf with marks in the colour of the disease."""
    pixels = np.array([60, 140, 50]) + rng.integers(-20, 21, (HEIGHT, WIDTH, 3))
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    stretch = 4 if "_" in label else 1
    for _ in range(rng.integers(3, 8)):
        row, column, radius = rng.integers(0, HEIGHT), rng.integers(0, WIDTH), rng.integers(3, 7)
        mark = ((y - row) / stretch) ** 2 + (x - column) ** 2 < radius**2
        pixels[mark] = np.array(CLASSES[label][1]) + rng.integers(-12, 13)
    return np.clip(pixels, 0, 255).astype(np.uint8)
