"""Undergrowth in green and brown; where hydrangea grows there are pale blue and pink balls."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mlebench.preparation.seven_zip import write_7z
from mlebench.preparation.synthetic import jpeg_bytes, write_zip

HEIGHT, WIDTH = 36, 48  # pixels; the real ones have 866 and 1154
INVASIVE_SHARE = 0.6
FLOWERS = np.array([[150, 160, 225], [225, 165, 200]])


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    others = max(1, 2 * size // 3)
    invasive = (rng.random(size) < INVASIVE_SHARE).astype(int)
    invasive[::7], invasive[1::7] = 0, 1  # both classes on both sides, however small the twin is
    write_7z(raw / "train.7z", _photographs(rng, "train", invasive))
    write_7z(raw / "test.7z", _photographs(rng, "test", (rng.random(others) < INVASIVE_SHARE).astype(int)))
    labels = ["name,invasive", *(f"{number},{label}" for number, label in enumerate(invasive, start=1))]
    sample = ["name,invasive", *(f"{number},0.5" for number in range(1, others + 1))]
    for name, lines in (("train_labels", labels), ("sample_submission", sample)):
        write_zip(raw / f"{name}.csv.zip", {f"{name}.csv": "\n".join(lines) + "\n"})


def _photographs(rng: np.random.Generator, folder: str, invasive: np.ndarray) -> Iterator[tuple[str, io.BytesIO]]:
    for number, label in enumerate(invasive, start=1):
        yield f"{folder}/{number}.jpg", io.BytesIO(jpeg_bytes(_photograph(rng, bool(label))))


def _photograph(rng: np.random.Generator, invasive: bool) -> np.ndarray:
    """RGB pixels, shape (HEIGHT, WIDTH, 3)."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    pixels = np.array([70, 95, 50]) * rng.uniform(0.8, 1.2) + rng.normal(0, 12, (HEIGHT, WIDTH, 1))
    for left in rng.integers(0, WIDTH, rng.integers(0, 4)):
        pixels[np.abs(x - left) < 2] = (85, 65, 45)  # a trunk
    for left, top in rng.integers(4, 32, (invasive * rng.integers(2, 6), 2)):
        ball = (x - left) ** 2 + (y - top) ** 2 < rng.integers(4, 16)
        pixels[ball] = rng.choice(FLOWERS) + rng.normal(0, 12, (int(ball.sum()), 1))
    return np.clip(pixels, 0, 255).astype(np.uint8)
