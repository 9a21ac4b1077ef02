"""Ten sensors whose tremor grows, and whose slow waves get faster, as the eruption comes nearer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

READINGS = 120
SENSORS = [f"sensor_{number}" for number in range(1, 11)]
LONGEST = 49_000_000


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = max(4, size // 8)
    ids = rng.choice(2**31, size + unlabelled, replace=False)
    times = rng.integers(6_000, LONGEST, size + unlabelled)
    labelled = pd.DataFrame({"segment_id": ids[:size], "time_to_eruption": times[:size]})

    write_csv(labelled, raw / "train.csv")
    write_csv(pd.DataFrame({"segment_id": ids[size:]}).assign(time_to_eruption=0), raw / "sample_submission.csv")
    for place, (number, time) in enumerate(zip(ids, times, strict=True)):
        write_csv(_segment(rng, time / LONGEST), raw / ("train" if place < size else "test") / f"{number}.csv")


def _segment(rng: np.random.Generator, rest: float) -> pd.DataFrame:
    """Readings of one segment; `rest` is the time to the eruption from 0 to 1. Whole numbers, but some are missing."""
    clock = np.arange(READINGS)[:, None]
    gain = rng.uniform(0.8, 1.2, len(SENSORS))
    waves = np.sin(clock * (0.1 + 0.5 * (1 - rest)) + rng.uniform(0, 6, len(SENSORS)))
    readings = gain * (400 * waves + (100 + 900 * (1 - rest)) * rng.normal(size=(READINGS, len(SENSORS))))
    readings = np.clip(np.round(readings), -32768, 32767) + 0.0
    readings[rng.random(readings.shape) < 0.002] = np.nan
    readings[:, rng.random(len(SENSORS)) < 0.03] = np.nan
    return pd.DataFrame(readings, columns=SENSORS)
