"""Patches of forest whose cover depends on elevation, region and soil."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

# Mean, spread of what is measured: impossible values occur, as in the real table.
MEASUREMENTS = {
    "Elevation": (2980, 290),
    "Aspect": (152, 110),
    "Slope": (15, 8.5),
    "Horizontal_Distance_To_Hydrology": (271, 227),
    "Vertical_Distance_To_Hydrology": (52, 68),
    "Horizontal_Distance_To_Roadways": (1767, 1315),
    "Hillshade_9am": (212, 30),
    "Hillshade_Noon": (221, 23),
    "Hillshade_3pm": (141, 43),
    "Horizontal_Distance_To_Fire_Points": (1582, 1127),
}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    patches = _patches(rng, size + max(1, size // 4))
    train, test = patches.iloc[:size], patches.iloc[size:].drop(columns="Cover_Type")

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["Id"]].assign(Cover_Type=2), raw / "sample_submission.csv")


def _patches(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    means, spreads = np.array(list(MEASUREMENTS.values())).T
    measured = np.rint(rng.normal(means, spreads, (rows, len(means)))).astype(int)
    areas = _indicators(rng, rows, 4)
    soils = _indicators(rng, rows, 40)
    height = measured[:, 0] + 60 * areas[:, 0] - 120 * areas[:, 3] + 4 * (soils @ np.arange(-20, 20))
    height = height + rng.normal(0, 35, rows)
    limits, classes = [2330, 2520, 2560, 3080, 3580], np.array([4, 3, 6, 2, 1, 7])
    cover = classes[np.searchsorted(limits, height)]
    cover[rng.integers(rows)] = 5  # one in the whole table
    return pd.DataFrame(
        {
            "Id": np.arange(rows),
            **dict(zip(MEASUREMENTS, measured.T, strict=True)),
            **{f"Wilderness_Area{number + 1}": areas[:, number] for number in range(4)},
            **{f"Soil_Type{number + 1}": soils[:, number] for number in range(40)},
            "Cover_Type": cover,
        }
    )


def _indicators(rng: np.random.Generator, rows: int, count: int) -> np.ndarray:
    """Of `count` indicators mostly one is set, in some rows none or several; shape (rows, count)."""
    chosen = rng.integers(0, count, rows)
    indicators = (rng.random((rows, count)) < 0.08 / count).astype(int)
    indicators[np.arange(rows), chosen] = rng.random(rows) < 0.95
    return indicators
