"""Patients whose lungs lose volume week by week, the faster the brighter the scars in their scans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import random_order, write_csv
from mlebench.preparation.synthetic import dicom_bytes

READINGS_OF_A_PATIENT = 9  # about as many
SMOKING = ["Ex-smoker", "Never smoked", "Currently smokes"]
SIDE = 16


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = max(10, size // READINGS_OF_A_PATIENT)
    numbers = np.sort(rng.choice(np.arange(1, 450), count, replace=False)) if count < 450 else np.arange(count)
    names = [f"ID{number:05d}{rng.integers(10**17, 10**18)}" for number in numbers]
    scars = rng.random(count)
    held_out = set(random_order(count, 0.1)[0][: -(-count // 10)])
    tables = [_readings(rng, name, scar) for name, scar in zip(names, scars, strict=True)]
    for place in rng.permutation(count)[: 1 + count // 25]:
        if place not in held_out:  # a test patient with two readings in one week can't be prepared
            tables[place] = _with_a_week_twice(tables[place])
    readings = pd.concat(tables, ignore_index=True)
    shown = readings[readings["Patient"].isin(names[:2])]

    write_csv(readings, raw / "train.csv")
    write_csv(shown.groupby("Patient", as_index=False).first(), raw / "test.csv")
    weeks = [f"{name}_{week}" for week in range(-12, 134) for name in names[:2]]
    write_csv(pd.DataFrame({"Patient_Week": weeks}).assign(FVC=2000, Confidence=100), raw / "sample_submission.csv")
    for name, scar in zip(names, scars, strict=True):
        slices = _scan(rng, name, scar)
        _write_scan(raw / "train" / name, slices)
        if name in names[:2]:
            _write_scan(raw / "test" / name, slices)


def _readings(rng: np.random.Generator, name: str, scar: float) -> pd.DataFrame:
    """What the spirometer showed, visit by visit; the first visit is near week 0."""
    visits = int(rng.integers(6, 11))
    weeks = rng.integers(-5, 30) + np.cumsum([0, *rng.integers(1, 12, visits - 1)])
    age, male, smoking = int(rng.integers(50, 88)), rng.random() < 0.79, rng.choice(SMOKING, p=[0.67, 0.28, 0.05])
    typical = (4100 if male else 2900) - 15 * (age - 60) + rng.normal(0, 150)
    share = 0.9 - 0.35 * scar + rng.normal(0, 0.05)
    lost = (1 + 9 * scar + 2 * (smoking == "Currently smokes")) * (weeks - weeks[0])
    volume = np.maximum(np.round(typical * share - lost + rng.normal(0, 40, visits)), 800).astype(int)
    return pd.DataFrame(
        {
            "Patient": name,
            "Weeks": weeks,
            "FVC": volume,
            "Percent": volume / typical * 100,
            "Age": age,
            "Sex": "Male" if male else "Female",
            "SmokingStatus": smoking,
        }
    )


def _with_a_week_twice(readings: pd.DataFrame) -> pd.DataFrame:
    second = readings.iloc[[2]].assign(FVC=readings["FVC"].iloc[2] + 11)
    return pd.concat([readings.iloc[:3], second, readings.iloc[3:]])


def _scan(rng: np.random.Generator, name: str, scar: float) -> list[bytes]:
    """Two or three slices: dark lungs in a grey body, bright where they are scarred."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    lungs = (np.hypot(rows - 7.5, columns - 4.5) < 3.5) | (np.hypot(rows - 7.5, columns - 10.5) < 3.5)
    slices = []
    for number in range(1, int(rng.integers(3, 5))):
        scarred = lungs & (rng.random((SIDE, SIDE)) < 0.6 * scar)
        pixels = np.where(scarred, 900, np.where(lungs, 150, 1000)) + rng.integers(0, 40, (SIDE, SIDE))
        facts = {(0x0010, 0x0020): ("LO", name), (0x0020, 0x0013): ("IS", str(number))}
        slices.append(dicom_bytes(pixels.astype(np.uint16), f"2.25.{name[2:17]}.{number}", facts))
    return slices


def _write_scan(folder: Path, slices: list[bytes]) -> None:
    folder.mkdir(parents=True)
    for number, content in enumerate(slices, start=1):
        (folder / f"{number}.dcm").write_bytes(content)
