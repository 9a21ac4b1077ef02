"""Small pictures with a disc for each attribute; attributes are as unequally frequent as the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import discs, hex_ids, png_bytes

ATTRIBUTES = 3474
GROUPS = ["country", "culture", "dimension", "medium", "tags"]
SPECIAL = {0: "country::côte d'ivoire", 1: 'country::"iran"', 2: "culture::african, west"}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    ids = hex_ids(rng, size + size // 6 + 1, 32)
    # A tenth of the pictures takes its attributes from all there are, the others from a dozen.
    kinds = np.where(rng.random(len(ids)) < 0.1, ATTRIBUTES, 12)
    sets = [np.unique(rng.integers(0, kind, rng.integers(1, 4))) for kind in kinds]
    labels = [" ".join(map(str, attributes)) for attributes in sets]
    names = [SPECIAL.get(n, f"{GROUPS[n * len(GROUPS) // ATTRIBUTES]}::thing {n}") for n in range(ATTRIBUTES)]

    write_csv(pd.DataFrame({"id": ids[:size], "attribute_ids": labels[:size]}), raw / "train.csv")
    write_csv(pd.DataFrame({"id": ids[size:], "attribute_ids": "0 1 2"}), raw / "sample_submission.csv")
    write_csv(pd.DataFrame({"attribute_id": range(ATTRIBUTES), "attribute_name": names}), raw / "labels.csv")
    for part in ("train", "test"):
        (raw / part).mkdir()
    for place, (name, attributes) in enumerate(zip(ids, sets, strict=True)):
        folder = raw / ("train" if place < size else "test")
        (folder / f"{name}.png").write_bytes(png_bytes(discs(rng, attributes.tolist())))
