"""Particles that cross a grid of sensors on straight lines at the speed of light, and some noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

GRID, SPACING = np.array([6, 6, 12]), np.array([120.0, 120.0, 60.0])  # sensors along x, y and z; metres
LIGHT = 0.299792458  # metres a nanosecond
EVENTS_OF_A_BATCH = 100
MOST_BATCHES = 660


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    batches = int(np.clip(size // EVENTS_OF_A_BATCH, 10, MOST_BATCHES))
    ids = np.cumsum(rng.integers(1, 40, size + size // batches))
    parts = np.array_split(ids, batches + 1)
    (raw / "train").mkdir(parents=True)
    (raw / "test").mkdir()
    tables = []
    for number, events in enumerate(parts, start=1):
        meta, pulses = _batch(rng, number, events)
        tables.append(meta)
        side = "train" if number <= batches else "test"
        _write_table(raw / side / f"batch_{number}.parquet", pulses)
    hidden = tables.pop()
    sample = hidden[["event_id"]].assign(azimuth=np.int64(1), zenith=np.int64(1))

    _write_table(raw / "train_meta.parquet", pd.concat(tables, ignore_index=True))
    _write_table(raw / "test_meta.parquet", hidden.drop(columns=["azimuth", "zenith"]))
    _write_table(raw / "sample_submission.parquet", sample)
    places = np.indices(GRID).reshape(3, -1).T * SPACING - SPACING * (GRID - 1) / 2
    geometry = pd.DataFrame(places, columns=["x", "y", "z"])
    geometry.insert(0, "sensor_id", np.arange(len(places)))
    write_csv(geometry, raw / "sensor_geometry.csv")


def _write_table(path: Path, table: pd.DataFrame) -> None:
    table.to_parquet(path, engine="pyarrow")


def _batch(rng: np.random.Generator, number: int, events: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The events of a batch, and their pulses, those of one event in order of time."""
    count = rng.integers(8, 40, len(events))
    last = np.cumsum(count) - 1
    azimuth = rng.uniform(0, 2 * np.pi, len(events))
    zenith = np.arccos(rng.uniform(-1, 1, len(events)))
    meta = pd.DataFrame(
        {
            "batch_id": np.full(len(events), number, dtype=np.int64),
            "event_id": events,
            "first_pulse_index": last - count + 1,
            "last_pulse_index": last,
            "azimuth": azimuth,
            "zenith": zenith,
        }
    )
    event = np.repeat(np.arange(len(events)), count)
    pulses = _pulses(rng, event, -_unit_vectors(azimuth, zenith))
    return meta, pulses.set_axis(pd.Index(events[event], name="event_id"))


def _unit_vectors(azimuth: np.ndarray, zenith: np.ndarray) -> np.ndarray:
    flat = np.sin(zenith)
    return np.stack([np.cos(azimuth) * flat, np.sin(azimuth) * flat, np.cos(zenith)], axis=1)


def _pulses(rng: np.random.Generator, event: np.ndarray, heading: np.ndarray) -> pd.DataFrame:
    """Pulses of the events number `event`, (pulses,), whose particles fly towards `heading`, (events, 3)."""
    passing = rng.normal(0, 60, heading.shape)  # a point that the particle passes
    noise = rng.random(len(event)) < 0.2
    along = rng.normal(0, 200, len(event))
    place = passing[event] + along[:, None] * heading[event] + rng.normal(0, 20, (len(event), 3))
    cell = np.clip(np.round(place / SPACING + (GRID - 1) / 2), 0, GRID - 1).astype(int)
    random_cell = np.floor(rng.random((len(event), 3)) * GRID).astype(int)
    cell[noise] = random_cell[noise]
    time = np.where(noise, rng.uniform(-2000, 2000, len(event)), along / LIGHT + rng.exponential(30, len(event)))
    pulses = pd.DataFrame(
        {
            "sensor_id": np.ravel_multi_index(tuple(cell.T), tuple(GRID)).astype(np.int16),
            "time": 10_000 + np.round(time).astype(np.int64),
            "charge": np.round(rng.gamma(3, 0.4, len(event)), 3) + 0.025,
            "auxiliary": noise ^ (rng.random(len(event)) < 0.05),
        }
    )
    order = np.lexsort((pulses["time"], event))
    return pulses.iloc[order].reset_index(drop=True)
