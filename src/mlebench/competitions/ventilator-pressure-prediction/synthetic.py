"""An artificial lung, blown up by a valve that follows the pressure, as the recorded one did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

STEPS = 80
COLUMNS = ["id", "breath_id", "R", "C", "time_step", "u_in", "u_out", "pressure"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    train = _breaths(rng, size)
    test = _breaths(rng, max(1, size // 2))

    write_csv(train, raw / "train.csv")
    write_csv(test.drop(columns="pressure"), raw / "test.csv")
    write_csv(test[["id"]].assign(pressure=0), raw / "sample_submission.csv")


def _breaths(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """`count` breaths of 80 steps, in order of their numbers, which have gaps."""
    resistance, compliance = rng.choice([5, 20, 50], count), rng.choice([10, 20, 50], count)
    step = rng.uniform(0.031, 0.035, (count, STEPS)) * (np.arange(STEPS) > 0)
    time = step.cumsum(axis=1)
    u_out = time > rng.uniform(0.9, 1.05, (count, 1))
    u_in, pressure = _simulate(rng, resistance, compliance, step, u_out)
    return pd.DataFrame(
        {
            "id": np.arange(1, count * STEPS + 1),
            "breath_id": np.repeat(np.cumsum(rng.integers(1, 3, count)), STEPS),
            "R": np.repeat(resistance, STEPS),
            "C": np.repeat(compliance, STEPS),
            "time_step": time.ravel(),
            "u_in": u_in.ravel(),
            "u_out": u_out.ravel().astype(int),
            "pressure": pressure.ravel(),
        }
    )


def _simulate(
    rng: np.random.Generator, resistance: np.ndarray, compliance: np.ndarray, step: np.ndarray, u_out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Opening of the valve, in percent, and pressure, in cmH2O; both of shape (breaths, steps)."""
    target, gain = rng.choice([15.0, 20.0, 25.0, 30.0], len(step)), rng.uniform(1, 8, len(step))
    u_in, pressure = np.zeros(step.shape), np.empty(step.shape)
    volume, seen = np.zeros(len(step)), np.full(len(step), 6.0)
    for now in range(step.shape[1]):
        inward = ~u_out[:, now]
        u_in[:, now] = np.where(inward, np.clip(gain * (target - seen), 0, 100), 5.0)
        flow = np.where(inward, 0.012 * u_in[:, now], -volume / (0.004 * resistance * compliance + 0.3))
        volume = np.maximum(volume + flow * step[:, now], 0)
        seen = 5.5 + 400 * volume / compliance + 0.1 * resistance * flow + rng.normal(0, 0.1, len(step))
        pressure[:, now] = seen
    return u_in, pressure
