"""Noise with interference in all six panels; a needle drifts through some of the panels of the target star.

The withdrawn contest's snippets have the noise of present ones, so that the panels without needle are the same.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

PANELS, TIMES, FREQUENCIES = 6, 16, 24  # the real ones have 273 times and 256 frequencies
ON_TARGET = (0, 2, 4)  # panels
NEEDLE_SHARE = 0.3  # more than the real tenth, so that a small test has some
OLD_TEST_SHARE = 0.2


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = size + max(1, size // 10)
    target = (rng.random(count) < NEEDLE_SHARE).astype(int)
    target[:size:7], target[1:size:7] = 0, 1  # both classes on both sides, however small the twin is
    snippets = pd.DataFrame({"id": hex_ids(rng, count, 12), "target": target})
    old = pd.DataFrame({"id": hex_ids(rng, size, 12), "target": target[:size]})
    is_old_test = rng.random(size) < OLD_TEST_SHARE
    folder = raw / "old_leaky_data"

    for number, (name, needle) in enumerate(snippets.to_numpy()):
        noise = _noise(rng)
        part = "train" if number < size else "test"
        _write(raw / part, name, noise + needle * _needle(rng))
        if number < size:
            part = "test_old" if is_old_test[number] else "train_old"
            _write(folder / part, str(old["id"][number]), noise + needle * _needle(rng))
    write_csv(snippets.iloc[:size], raw / "train_labels.csv")
    write_csv(snippets.iloc[size:].assign(target=0.5), raw / "sample_submission.csv")
    write_csv(old[~is_old_test].sample(frac=1, random_state=rng), folder / "train_labels_old.csv")
    write_csv(old[is_old_test].sample(frac=1, random_state=rng), folder / "test_labels_old.csv")


def _noise(rng: np.random.Generator) -> np.ndarray:
    """What the telescope hears of the Earth, shape (PANELS, TIMES, FREQUENCIES)."""
    noise = rng.normal(0, 1, (PANELS, TIMES, FREQUENCIES))
    for _ in range(rng.poisson(0.7)):
        noise[:, :, rng.integers(FREQUENCIES)] += rng.uniform(1, 3)
    return noise


def _needle(rng: np.random.Generator) -> np.ndarray:
    """A line through the three panels of the target star, one or two of which it may skip."""
    needle = np.zeros((PANELS, TIMES, FREQUENCIES))
    drift = rng.uniform(0.03, 0.2) * rng.choice([-1, 1])  # frequencies a time step
    places = rng.integers(FREQUENCIES) + drift * np.arange(PANELS * TIMES)
    steps = np.arange(PANELS * TIMES)
    needle[steps // TIMES, steps % TIMES, np.round(places).astype(int) % FREQUENCIES] = rng.uniform(2.5, 5)
    heard = rng.choice(ON_TARGET, rng.integers(1, 4), replace=False)
    needle[~np.isin(np.arange(PANELS), heard)] = 0
    return needle


def _write(folder: Path, name: str, values: np.ndarray) -> None:
    """Normalise the snippet as a whole and write it below the first character of its name."""
    buffer = io.BytesIO()
    np.save(buffer, ((values - values.mean()) / values.std()).astype(np.float16))
    path = folder / name[0] / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue())
