"""Small flukes with a disc of the colour of their whale; many whales have a single photograph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.herbarium import long_tailed_species
from mlebench.preparation.synthetic import discs, hex_ids, jpeg_bytes

NEW = 0.1  # share of photographs of animals without a name


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    names = [f"{name}.jpg" for name in hex_ids(rng, size + 3, 8)]
    whale = long_tailed_species(rng, size + 3, limit=16 * size + 100)
    whale[:3] = 16 * size + np.arange(200, 203)  # at least these three have one photograph only
    codes = np.array([f"w_{number * 9973 % 16**7:07x}" for number in whale])
    labels = np.where(rng.random(size + 3) < NEW, "new_whale", codes)
    sample = "new_whale w_1287fbc w_98baff9 w_7554f44 w_1eafe46"

    write_csv(pd.DataFrame({"Image": names[:size], "Id": labels[:size]}), raw / "train.csv")
    write_csv(pd.DataFrame({"Image": names[size:], "Id": sample}), raw / "sample_submission.csv")
    for part in ("train", "test"):
        (raw / part).mkdir()
    for place, (name, number) in enumerate(zip(names, whale.tolist(), strict=True)):
        folder = raw / ("train" if place < size else "test")
        (folder / name).write_bytes(jpeg_bytes(discs(rng, [number], 20, 40)))
