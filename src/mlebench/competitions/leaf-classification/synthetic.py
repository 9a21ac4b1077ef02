"""Leaves whose outline, edge and texture vary around those of their species."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.competition import load_competition
from mlebench.preparation.synthetic import jpeg_bytes, write_zip

PLACES = 64  # numbers in each descriptor
STEP = 2.0**-10  # the histograms' unit


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    species = [column.name for column in load_competition(Path(__file__).parent).schema.columns]
    rows = size + max(1, size * 3 // 5)
    kinds = np.concatenate(
        [rng.permutation(np.arange(size) % len(species)), rng.integers(0, len(species), rows - size)]
    )
    outlines = _outlines(rng, len(species))[kinds] * rng.normal(1, 0.02, (rows, PLACES))
    ids = rng.permutation(rows) + 1
    leaves = pd.DataFrame(
        {
            "id": ids,
            "species": np.array(species)[kinds],
            **_named("margin", _histograms(rng, kinds, len(species))),
            **_named("shape", 0.0007 * outlines * rng.uniform(0.7, 1.3, (rows, 1))),
            **_named("texture", _histograms(rng, kinds, len(species))),
        }
    )
    train, test = leaves.iloc[:size], leaves.iloc[size:].drop(columns="species")

    _write(raw, "train.csv", train)
    _write(raw, "test.csv", test)
    _write(raw, "sample_submission.csv", test[["id"]].assign(**dict.fromkeys(species, 1 / len(species))))
    pictures = {f"images/{leaf}.jpg": jpeg_bytes(_silhouette(outlines[row], rng)) for row, leaf in enumerate(ids)}
    write_zip(raw / "images.zip", pictures)


def _outlines(rng: np.random.Generator, count: int) -> np.ndarray:
    """Distance of the contour from the middle in 64 directions, about 1; shape (count, 64)."""
    angles = np.linspace(0, 2 * np.pi, PLACES, endpoint=False)
    waves = np.arange(1, 8)
    strengths = rng.normal(0, 0.25, (count, len(waves))) / waves
    phases = rng.uniform(0, 2 * np.pi, (count, len(waves)))
    return np.exp((strengths[..., None] * np.cos(waves[:, None] * angles + phases[..., None])).sum(axis=1))


def _histograms(rng: np.random.Generator, kinds: np.ndarray, count: int) -> np.ndarray:
    """Histograms of 64 bins drawn around that of each leaf's species, many bins empty; shape (leaves, 64)."""
    means = rng.dirichlet(np.full(PLACES, 0.5), count)[kinds]
    return rng.poisson(means / STEP / 4) * 4 * STEP


def _named(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Columns name1 … name64 as texts with up to six decimals: 0.007812, 0.000046, 0."""
    texts = np.char.rstrip(np.char.rstrip(np.char.mod("%.6f", values), "0"), ".")
    return {f"{name}{place + 1}": texts[:, place] for place in range(values.shape[1])}


def _silhouette(outline: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grey pixels: the leaf white on black, width and height from 40 to 71."""
    height, width = rng.integers(40, 72, 2)
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    direction = np.round(np.arctan2(y, x) / (2 * np.pi) * PLACES).astype(int) % PLACES
    inside = np.hypot(x, y) < 0.95 * outline[direction] / outline.max()
    return np.where(inside, 255, 0).astype(np.uint8)


def _write(raw: Path, name: str, table: pd.DataFrame) -> None:
    write_zip(raw / f"{name}.zip", {name: table.to_csv(index=False, lineterminator="\n")})
