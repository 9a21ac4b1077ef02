"""Readings in which rain upstream makes a flood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    """Write raw files with the real schema and about `size` labelled examples; `rng` is the only randomness."""
    rain = rng.gamma(2, 10, size)
    readings = pd.DataFrame({"id": np.arange(size), "rain": rain.round(1), "snow": rng.integers(0, 90, size)})
    readings["flood"] = (rain + 0.2 * readings["snow"] + rng.normal(0, 4, size) > 30).astype(int)
    write_csv(readings, raw / "readings.csv")
