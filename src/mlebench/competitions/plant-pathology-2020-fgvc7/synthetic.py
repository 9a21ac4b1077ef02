"""Green leaves with orange spots (rust), brown spots (scab), both (several diseases) or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes

HEIGHT, WIDTH = 40, 60  # pixels; the real ones have 1365 and 2048
CONDITIONS = ["healthy", "multiple_diseases", "rust", "scab"]
SHARES = [0.28, 0.12, 0.3, 0.3]  # more of the second than the real 0.05, so that a small test has some
BACKGROUND, LEAF, RUST, SCAB = np.array([[120, 140, 110], [70, 130, 50], [210, 140, 40], [80, 65, 35]])


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    train, test = _leaves(rng, size, "Train"), _leaves(rng, size, "Test")

    write_csv(train, raw / "train.csv")
    write_csv(test[["image_id"]], raw / "test.csv")
    write_csv(test.assign(**dict.fromkeys(CONDITIONS, 0.25)), raw / "sample_submission.csv")
    (raw / "images").mkdir()
    for name, _, several, rust, scab in [*train.to_numpy(), *test.to_numpy()]:
        pixels = _photograph(rng, rust=bool(rust or several), scab=bool(scab or several))
        (raw / "images" / f"{name}.jpg").write_bytes(jpeg_bytes(pixels))


def _leaves(rng: np.random.Generator, count: int, prefix: str) -> pd.DataFrame:
    condition = rng.choice(len(CONDITIONS), count, p=SHARES)
    indicators = pd.DataFrame(np.eye(len(CONDITIONS), dtype=int)[condition], columns=CONDITIONS)
    indicators.insert(0, "image_id", [f"{prefix}_{number}" for number in range(count)])
    return indicators


def _photograph(rng: np.random.Generator, *, rust: bool, scab: bool) -> np.ndarray:
    """RGB pixels, shape (HEIGHT, WIDTH, 3), of a leaf in some light."""
    y, x = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    pixels = BACKGROUND + rng.normal(0, 10, (HEIGHT, WIDTH, 1)) + rng.normal(0, 8)
    pixels[(x / rng.uniform(0.75, 0.95)) ** 2 + (y / rng.uniform(0.5, 0.8)) ** 2 < 1] = LEAF + rng.normal(0, 10)
    for present, colour in ((rust, RUST), (scab, SCAB)):
        for left, top in rng.uniform(-0.5, 0.5, (present * rng.integers(3, 9), 2)):
            pixels[(x - left) ** 2 + (y - top) ** 2 < rng.uniform(0.08, 0.18) ** 2] = colour + rng.normal(0, 8)
    return np.clip(pixels * rng.uniform(0.8, 1.2), 0, 255).astype(np.uint8)
