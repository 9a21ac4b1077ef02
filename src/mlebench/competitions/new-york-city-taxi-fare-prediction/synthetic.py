"""Rides whose fare depends on distance, tolls and the year, in the dirty state of the real table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = [
    "key",
    "fare_amount",
    "pickup_datetime",
    "pickup_longitude",
    "pickup_latitude",
    "dropoff_longitude",
    "dropoff_latitude",
    "passenger_count",
]
CENTRE = np.array([-73.98, 40.75, -73.98, 40.75])
AIRPORT = np.array([-73.78, 40.645])
CHUNK = 200_000


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    test = _rides(rng, size, max(1, min(9914, size // 5)))

    _write(raw / "train.csv", COLUMNS, lambda first, rows: _rides(rng, first, rows), size)
    _write(raw / "test.csv", [name for name in COLUMNS if name != "fare_amount"], lambda *_: test, len(test))
    _write(
        raw / "sample_submission.csv", ["key", "fare_amount"], lambda *_: test.assign(fare_amount="11.35"), len(test)
    )
    (raw / "GCP-Coupons-Instructions.rtf").write_text("{\\rtf1\\ansi How to redeem a coupon.}\n", encoding="ascii")


def _write(path: Path, columns: list[str], rides: Callable[[int, int], pd.DataFrame], size: int) -> None:
    """Write `size` rides in chunks; `rides` gives those from a row on."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for first in range(0, size, CHUNK):
            chunk = rides(first, min(CHUNK, size - first))
            chunk[columns].to_csv(file, index=False, header=False, lineterminator="\n")


def _rides(rng: np.random.Generator, first: int, rows: int) -> pd.DataFrame:
    """Rides as texts, numbered from `first`."""
    seconds = rng.integers(0, int(6.5 * 365.25 * 86400), rows)
    times = np.datetime_as_string(np.datetime64("2009-01-01T00:00:00") + seconds.astype("timedelta64[s]"))
    times = [text.replace("T", " ") for text in times.tolist()]
    places = CENTRE + rng.normal(0, 0.025, (rows, 4))
    to_airport = rng.random(rows) < 0.05
    places[to_airport, 2:] = AIRPORT + rng.normal(0, 0.003, (to_airport.sum(), 2))
    fare = _fare(rng, places, seconds)
    places, gaps = _soiled(rng, places.round(6))
    passengers = np.where(
        rng.random(rows) < 0.001, 208, rng.choice(7, rows, p=[0.01, 0.69, 0.14, 0.05, 0.02, 0.07, 0.02])
    )
    texts = [np.where(gaps & (column > 1), "", _texts(rng, places[:, column])) for column in range(4)]
    cells = [
        [f"{time}.{number:07d}" for number, time in enumerate(times, start=first)],
        _shortest(fare),
        [f"{time} UTC" for time in times],
        *texts,
        passengers,
    ]
    return pd.DataFrame(dict(zip(COLUMNS, cells, strict=True)))


def _fare(rng: np.random.Generator, places: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """In dollars and whole tenths; a few are negative or zero."""
    east, north = (places[:, 2] - places[:, 0]) * 84.4, (places[:, 3] - places[:, 1]) * 111.2
    kilometres = np.abs(east) + np.abs(north)
    dearer = np.where(seconds > 3.7 * 365.25 * 86400, 1.17, 1.0)
    fare = (2.5 + 1.35 * kilometres * rng.gamma(25, 1 / 25, len(places))) * dearer
    fare = np.maximum(fare, 2.5).round(1)
    odd = rng.random(len(places))
    return np.where(odd < 0.0005, -fare, np.where(odd < 0.001, 0.0, fare))


def _soiled(rng: np.random.Generator, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions with what is wrong with the real ones, and which rides lack the position of the drop-off."""
    odd = rng.random(len(places))
    single = (odd > 0.8)[:, None]  # later records came in single precision
    places = np.where(single, places.astype(np.float32).astype(float), places)
    places = np.where((odd < 0.02)[:, None], 0.0, places)
    places = np.where(((odd >= 0.02) & (odd < 0.022))[:, None], places[:, [1, 0, 3, 2]], places)
    far = (odd >= 0.022) & (odd < 0.023)
    places[far] = np.array([-3116.285383, 401.083332, -1329.6, 404.433332])
    return places, (odd >= 0.023) & (odd < 0.024)


def _texts(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Mostly the shortest form, some with four decimals."""
    texts = np.array(_shortest(values), dtype=object)
    padded = rng.random(len(values)) < 0.05
    texts[padded] = [f"{value:.4f}" for value in values[padded].tolist()]
    return texts


def _shortest(values: np.ndarray) -> list[str]:
    """`10` for 10.0, else the shortest text that restores the number."""
    return [repr(value).removesuffix(".0") for value in values.tolist()]
