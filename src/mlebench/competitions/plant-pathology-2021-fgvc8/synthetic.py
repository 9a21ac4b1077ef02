"""Small leaves with a disc for each disease; some are photographed twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import discs, hex_ids, jpeg_bytes

NAMES = ["complex", "frog_eye_leaf_spot", "healthy", "powdery_mildew", "rust", "scab"]
SETS = {  # with about how many of a hundred leaves have them
    "scab": 26,
    "healthy": 25,
    "frog_eye_leaf_spot": 17,
    "rust": 10,
    "complex": 9,
    "powdery_mildew": 6,
    "scab frog_eye_leaf_spot": 4,
    "scab frog_eye_leaf_spot complex": 1,
    "frog_eye_leaf_spot complex": 1,
    "rust frog_eye_leaf_spot": 0.5,
    "rust complex": 0.3,
    "powdery_mildew complex": 0.2,
}
TWICE = 0.03  # share of leaves that were photographed twice


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    names = [f"{name}.jpg" for name in hex_ids(rng, size + 3, 16)]
    shares = np.array(list(SETS.values()))
    labels = rng.choice(list(SETS), size + 3, p=shares / shares.sum())
    labels[-3:] = ["healthy", "scab", "complex"]

    write_csv(pd.DataFrame({"image": names[:size], "labels": labels[:size]}), raw / "train.csv")
    write_csv(pd.DataFrame({"image": names[size:], "labels": "healthy"}), raw / "sample_submission.csv")
    for part in ("train_images", "test_images"):
        (raw / part).mkdir()
    pixels = np.empty(0, dtype=np.uint8)
    for place, (name, label) in enumerate(zip(names, labels, strict=True)):
        if place == 0 or rng.random() >= TWICE:
            pixels = discs(rng, [NAMES.index(word) for word in label.split()])
        folder = raw / ("train_images" if place < size else "test_images")
        (folder / name).write_bytes(jpeg_bytes(pixels))
