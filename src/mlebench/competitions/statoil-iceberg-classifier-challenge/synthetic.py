"""Radar echoes on a dark sea: ships are narrow and strong in one polarisation, icebergs round and strong in both.

As in the real data, several cut-outs share an angle of incidence, and with it their class.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from mlebench.preparation.seven_zip import write_7z
from mlebench.preparation.synthetic import hex_ids

SIDE = 75
ROWS, COLUMNS = np.mgrid[:SIDE, :SIDE] - SIDE // 2


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = max(2, size // 20)
    ids = hex_ids(rng, size + unlabelled, 8)
    angles, labels = _angles(rng, size)
    cut_outs = [
        {"id": name, **_bands(rng, bool(label), angle), "inc_angle": angle, "is_iceberg": label}
        for name, angle, label in zip(ids, angles, labels, strict=False)
    ]
    known = [angle for angle in angles if angle != "na"]
    decoys = [
        {"id": name, **_bands(rng, bool(place % 2), known[place % len(known)]), "inc_angle": known[place % len(known)]}
        for place, name in enumerate(ids[size:])
    ]

    raw.mkdir(parents=True, exist_ok=True)
    _write(raw / "train.json.7z", "data/processed/train.json", json.dumps(cut_outs))
    _write(raw / "test.json.7z", "data/processed/test.json", json.dumps(decoys))
    sample = "".join(f"{name},0.5\n" for name in ids[size:])
    _write(raw / "sample_submission.csv.7z", "data/processed/sample_submission.csv", f"id,is_iceberg\n{sample}")


def _angles(rng: np.random.Generator, count: int) -> tuple[list[float | str], list[int]]:
    """Angle and label of each cut-out in random order: three to six share an angle and the label, 6 % know none."""
    angles: list[float | str] = []
    labels: list[int] = []
    while len(angles) < count:
        shared = int(rng.integers(3, 7))
        angles += [round(float(rng.uniform(25, 46)), 4)] * shared
        labels += [int(rng.random() < 0.47)] * shared
    unknown = rng.random(count) < 0.06
    order = rng.permutation(count).tolist()
    return ["na" if unknown[place] else angles[place] for place in order], [labels[place] for place in order]


def _bands(rng: np.random.Generator, iceberg: bool, angle: float | str) -> dict[str, list[float]]:
    """Both polarisations in decibels, row by row; the sea is darker at larger angles."""
    sea = -18 - 0.2 * ((angle if isinstance(angle, float) else 35.0) - 35)
    long, wide = (rng.uniform(4, 7), rng.uniform(4, 7)) if iceberg else (rng.uniform(5, 9), rng.uniform(1.5, 3))
    turn = rng.uniform(0, np.pi)
    along, across = ROWS * np.cos(turn) + COLUMNS * np.sin(turn), COLUMNS * np.cos(turn) - ROWS * np.sin(turn)
    target = (along / long) ** 2 + (across / wide) ** 2 < 1
    bands = {}
    for name, level, echo in (("band_1", sea, 16.0), ("band_2", sea - 8, 14.0 if iceberg else 7.0)):
        # Few different values, so that the text packs well; the real ones have six decimals throughout.
        waves = np.where(rng.random((SIDE, SIDE)) < 0.03, rng.integers(-3, 4, (SIDE, SIDE)), 0)
        pixels = round(level) + waves + target * (echo + rng.normal(0, 1.5, (SIDE, SIDE)))
        bands[name] = np.round(pixels, 6).ravel().tolist()
    return bands


def _write(archive: Path, member: str, text: str) -> None:
    write_7z(archive, [(member, io.BytesIO(text.encode("utf-8")))])
