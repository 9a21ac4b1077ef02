"""Noise of the sea; a right whale's call is a sweep upwards, and calls come in bouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import aiff_bytes, write_zip

RATE, SAMPLES = 2000, 4000  # two seconds
TRAINING_DAYS, TEST_DAYS = pd.date_range("2009-03-28", periods=4), pd.date_range("2009-04-04", periods=3)
BLOCKS = 96  # of a quarter of an hour, in a day


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    places, calls = _places(rng, TRAINING_DAYS, size), _calls(rng, size)
    order = rng.permutation(size)  # members of the archive stand in no order
    members = {f"train2/{places[n]}_TRAIN{n}_{calls[n]}.aif": _clip(rng, bool(calls[n])) for n in order}
    write_zip(raw / "train2.zip", {"train2/": b"", **members})

    others = max(3, size // 4)
    names = [f"{place}_Test{n}.aif" for n, place in enumerate(_places(rng, TEST_DAYS, others))]
    clips = [_clip(rng, bool(call)) for call in _calls(rng, others)]
    write_zip(raw / "test2.zip", {f"test2/{name}": clip for name, clip in zip(names, clips, strict=True)})
    write_csv(pd.DataFrame({"clip": names, "probability": 0}), raw / "sampleSubmission.csv")


def _places(rng: np.random.Generator, days: pd.DatetimeIndex, count: int) -> list[str]:
    """Different days, times and offsets in the order of time, as `20090328_001500_115s4ms`; each day has some."""
    spots = BLOCKS * 900 * 10  # tenths of a second in a day
    shares = np.array_split(np.arange(count), len(days))
    places = []
    for day, share in zip(days, shares, strict=True):
        for moment in np.sort(rng.choice(spots, len(share), replace=False)):
            block = day + pd.Timedelta(minutes=15 * int(moment // 9000))
            places.append(f"{block:%Y%m%d_%H%M%S}_{moment % 9000 // 10:03d}s{moment % 10}ms")
    return places


def _calls(rng: np.random.Generator, count: int) -> np.ndarray:
    """1 where a whale calls: more often during a bout."""
    bout = np.cumsum(rng.random(count) < 0.2) % 2
    calls = (rng.random(count) < np.where(bout, 0.6, 0.05)).astype(int)
    calls[::7], calls[1::7] = 0, 1  # both classes on both sides, however small the twin is
    return calls


def _clip(rng: np.random.Generator, call: bool) -> bytes:
    """An AIFF file: noise, deep rumbling, perhaps the steady tone of a ship, perhaps a call."""
    time = np.arange(SAMPLES) / RATE
    samples = rng.normal(0, 0.03, SAMPLES) + 0.05 * np.sin(2 * np.pi * rng.uniform(10, 40) * time)
    if rng.random() < 0.3:
        samples += rng.uniform(0.02, 0.08) * np.sin(2 * np.pi * rng.uniform(60, 400) * time)
    if call:
        length, low, high = rng.uniform(0.6, 1.1), rng.uniform(50, 90), rng.uniform(150, 250)
        since = time - rng.uniform(0.2, 0.8)
        sweep = np.sin(2 * np.pi * (low * since + (high - low) / (2 * length) * since**2))
        inside = (since >= 0) & (since < length)
        samples += inside * rng.uniform(0.04, 0.12) * np.sin(np.pi * since / length) * sweep
    return aiff_bytes(samples, RATE)
