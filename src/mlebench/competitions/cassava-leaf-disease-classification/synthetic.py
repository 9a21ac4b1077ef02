"""Leaves whose spots, blight and mottle differ by disease; the same photographs as files and as TFRecords."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes
from mlebench.preparation.tfrecords import write_examples

DISEASES = [
    "Cassava Bacterial Blight (CBB)",
    "Cassava Brown Streak Disease (CBSD)",
    "Cassava Green Mottle (CGM)",
    "Cassava Mosaic Disease (CMD)",
    "Healthy",
]
SHARES = [0.05, 0.10, 0.11, 0.62, 0.12]
SPOTS = np.array([[60, 40, 20], [150, 110, 40], [120, 190, 90], [220, 210, 80], [60, 130, 50]])
SHARDS = 16
HEIGHT, WIDTH = 36, 48


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    numbers = np.sort(rng.choice(2**32, size + 1, replace=False))
    names = [f"{number}.jpg" for number in rng.permutation(numbers)]
    labels = rng.choice(len(DISEASES), size, p=SHARES)
    train = pd.DataFrame({"image_id": names[:-1], "label": labels})

    write_csv(train.sort_values("image_id"), raw / "train.csv")
    _write_shards(raw, rng, train)
    unlabelled = jpeg_bytes(_leaf(rng, 4))
    _write(raw / "test_images" / names[-1], unlabelled)
    write_examples(raw / "test_tfrecords" / "ld_test00-1.tfrec", [_example(names[-1], unlabelled)])
    write_csv(pd.DataFrame({"image_id": names[-1:], "label": [4]}), raw / "sample_submission.csv")
    diseases = {str(number): disease for number, disease in enumerate(DISEASES)}
    _write(raw / "label_num_to_disease_map.json", json.dumps(diseases).encode())


def _write_shards(raw: Path, rng: np.random.Generator, train: pd.DataFrame) -> None:
    """The photographs as files, and in shards of equal length but for the last."""
    per_shard = -(-len(train) // SHARDS)
    for number, first in enumerate(range(0, len(train), per_shard)):
        examples = []
        for name, label in train.iloc[first : first + per_shard].itertuples(index=False):
            content = jpeg_bytes(_leaf(rng, label))
            _write(raw / "train_images" / name, content)
            examples.append({**_example(name, content), "target": [int(label)]})
        write_examples(raw / "train_tfrecords" / f"ld_train{number:02d}-{len(examples)}.tfrec", examples)


def _example(name: str, content: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    return {"image": [content], "image_name": [name.encode()]}


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _leaf(rng: np.random.Generator, label: int) -> np.ndarray:
    """RGB pixels of a green leaf with some spots in the colour of the disease."""
    pixels = np.array([60, 130, 50]) + rng.integers(-20, 21, (HEIGHT, WIDTH, 3))
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for _ in range(rng.integers(3, 9)):
        row, column, radius = rng.integers(0, HEIGHT), rng.integers(0, WIDTH), rng.integers(3, 8)
        pixels[(y - row) ** 2 + (x - column) ** 2 < radius**2] = SPOTS[label] + rng.integers(-15, 16)
    return np.clip(pixels, 0, 255).astype(np.uint8)
