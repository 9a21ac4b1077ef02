"""Skies with thin straight trails that are cold in some infrared bands, marked by several labellers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

HEIGHT, WIDTH, FRAMES, LABELLED = 18, 16, 8, 4
COLD = {11: 3.0, 13: 5.0, 14: 8.0, 15: 10.0}  # how much colder than the sky a trail is, in kelvin, by band
PROJECTION = 'PROJCRS["unknown",BASEGEOGCRS["unknown",DATUM["unknown",ELLIPSOID["GRS 1980",6378137,298.257222]]]]'


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    counts = {"train": size, "validation": size // 8 + 1}
    ids = [str(number) for number in np.unique(rng.integers(10**8, 2**63 - 1, 2 * sum(counts.values())))]
    ids = [ids[place] for place in rng.permutation(len(ids))]
    for part, count in counts.items():
        names, ids = ids[:count], ids[count:]
        for name in names:
            _write_record(raw / part / name, rng, individual=part == "train")
        metadata = [_facts(rng, name) for name in names]
        (raw / f"{part}_metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    for name in ids[:2]:
        _write_bands(raw / "test" / name, rng, np.zeros((HEIGHT, WIDTH, FRAMES), dtype=bool))
    write_csv(pd.DataFrame({"record_id": ids[:2], "encoded_pixels": "1 3 10 5"}), raw / "sample_submission.csv")


def _facts(rng: np.random.Generator, name: str) -> dict[str, object]:
    row, column = rng.uniform(-3e6, 3e6, 2).round(6).tolist()
    return {
        "record_id": name,
        "row_min": row,
        "row_size": 2004.8772583,
        "col_min": column,
        "col_size": 2004.8772583,
        "timestamp": float(rng.integers(1_550_000_000, 1_600_000_000)) + 0.25,
        "projection_wkt": PROJECTION,
    }


def _write_record(folder: Path, rng: np.random.Generator, *, individual: bool) -> None:
    trail = _trail(rng)
    _write_bands(folder, rng, trail)
    seen = trail[:, :, LABELLED, None, None]
    labellers = rng.integers(4, 7)
    masks = seen & (rng.random((*seen.shape[:3], labellers)) < 0.95)
    if individual:
        np.save(folder / "human_individual_masks.npy", masks.astype(np.int32))
    np.save(folder / "human_pixel_masks.npy", (masks.mean(axis=3) > 0.5).astype(np.int32))


def _write_bands(folder: Path, rng: np.random.Generator, trail: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for band in range(8, 17):
        sky = 265 + 2 * band + rng.normal(0, 1, trail.shape)
        np.save(folder / f"band_{band:02d}.npy", (sky - COLD.get(band, 0) * trail).astype(np.float32))


def _trail(rng: np.random.Generator) -> np.ndarray:
    """Which pixels belong to a trail, in every frame; bool, (HEIGHT, WIDTH, FRAMES). One scene in three has none."""
    rows, columns, frames = np.mgrid[:HEIGHT, :WIDTH, :FRAMES]
    slope, place, drift = rng.uniform(-0.8, 0.8), rng.uniform(4, HEIGHT - 4), rng.uniform(-0.4, 0.4)
    line = place + slope * (columns - WIDTH / 2) + drift * (frames - LABELLED)
    first = rng.integers(0, 3)  # it appears suddenly
    return (np.abs(rows - line) < 0.9) & (frames >= first) & (rng.random() < 2 / 3)
