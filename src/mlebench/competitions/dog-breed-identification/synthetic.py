"""Small dogs on grass; coat and face of a breed have colours of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.competition import load_competition
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes

LEVELS = 255 * np.arange(5) / 4
COATS = np.stack(np.meshgrid(LEVELS, LEVELS, LEVELS, indexing="ij"), axis=-1).reshape(-1, 3)  # 125 colours
GRASS = np.array([90.0, 150.0, 60.0])


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    breeds = [column.name for column in load_competition(Path(__file__).parent).schema.columns]
    ids = hex_ids(rng, size + max(1, size // 4), 32)
    ids[0] = "0" + "1" * 31  # one of digits only
    kinds = rng.permutation(np.arange(len(ids)) % len(breeds))
    for place, (name, kind) in enumerate(zip(ids, kinds, strict=True)):
        path = raw / ("train" if place < size else "test") / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg_bytes(_dog(int(kind), rng)))

    labels = pd.DataFrame({"id": ids[:size], "breed": np.array(breeds)[kinds[:size]]})
    write_csv(labels, raw / "labels.csv")
    uniform = pd.DataFrame(1 / len(breeds), index=pd.Index(ids[size:], name="id"), columns=breeds)
    write_csv(uniform.reset_index(), raw / "sample_submission.csv")


def _dog(kind: int, rng: np.random.Generator) -> np.ndarray:
    """RGB pixels: a round coat with a smaller face in the middle of it, on grass; the sides measure 24 to 39 pixels."""
    height, width = rng.integers(24, 40, 2)
    y, x = np.ogrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    pixels = np.empty((height, width, 3))
    pixels[:] = GRASS
    centre_x, centre_y = rng.uniform(-0.2, 0.2, 2)
    distance = (x - centre_x) ** 2 + (y - centre_y) ** 2
    pixels[distance < rng.uniform(0.6, 0.9) ** 2] = COATS[kind]
    pixels[distance < 0.3**2] = COATS[-1 - kind]
    return np.clip(pixels * rng.uniform(0.95, 1.05) + rng.normal(0, 4, pixels.shape), 0, 255).astype(np.uint8)
