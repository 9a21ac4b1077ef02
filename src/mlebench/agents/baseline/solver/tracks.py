"""Latitude and longitude at moments, from tables of positions in earth-centred coordinates, one for each track."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from .task import Task

EARTH_RADIUS = (6.2e6, 6.6e6)  # metres; positions near the ground
LONG_AXIS, FLATTENING = 6378137.0, 1 / 298.257223563  # of the ellipsoid WGS84
SMOOTHED = 5  # moments over which the median is taken


def applies(task: Task) -> bool:
    """Whether latitudes and longitudes are asked for, and each track has a folder with tables."""
    return places(task) is not None and all(folder is not None for folder in folders(task).values())


def places(task: Task) -> tuple[str, str] | None:
    """The sample's columns of latitude and longitude."""
    found = [next((t for t in task.targets if re.match(word, t, re.IGNORECASE)), None) for word in ("lat", "lon|lng")]
    return (found[0], found[1]) if found[0] and found[1] else None


def folders(task: Task) -> dict[str, Path | None]:
    """For each track the folder whose path, with hyphens or underscores between its parts, ends with its name."""
    known: dict[str, Path] = {}
    for path in task.files.paths:
        parts = task.files.relative(path).parts[:-1]
        if len(parts) > 1 and path.suffix.lower() == ".csv":
            for separator in ("-", "_", "/"):
                known.setdefault(separator.join(parts[1:]), path.parent)
    return {name: known.get(name) for name in dict.fromkeys(task.sample[task.id])}


def run(task: Task) -> list[pd.DataFrame]:
    """The known positions, smoothed and interpolated to the moments that are asked for."""
    named = places(task)
    assert named is not None
    times = next(c for c in task.targets if c not in named)
    moments = pd.to_numeric(task.sample[times])
    values = task.sample_numbers[:, [task.targets.index(name) for name in named]].copy()
    for name, folder in folders(task).items():
        track = None if folder is None else positions(folder)
        rows = np.flatnonzero(task.sample[task.id] == name)
        if track is not None:
            for column in range(2):
                smooth = pd.Series(track[:, 1 + column]).rolling(SMOOTHED, center=True, min_periods=1).median()
                values[rows, column] = np.interp(moments.iloc[rows], track[:, 0], smooth)
    return [pd.DataFrame(values, columns=list(named))]


def positions(folder: Path) -> np.ndarray | None:
    """Time, latitude and longitude, a row for each moment, from the first table that has them."""
    for path in sorted(folder.glob("*.csv")):
        head = pd.read_csv(path, nrows=50)
        axes = ground_columns(head)
        clock = next((c for c in head.columns if re.search("millis|time", c, re.IGNORECASE)), None)
        if axes and clock:
            table = pd.read_csv(path, usecols=[clock, *axes]).dropna().drop_duplicates(clock).sort_values(clock)
            if len(table):
                return np.column_stack([table[clock].to_numpy(float), *degrees(*table[axes].to_numpy(float).T)])
    return None


def ground_columns(head: pd.DataFrame) -> list[str]:
    """Three columns that differ in the letter X, Y or Z only, and lie on the ground."""
    for column in map(str, head.columns):
        for mark in re.finditer(r"X(?![a-z])", column):
            axes = [column[: mark.start()] + axis + column[mark.end() :] for axis in "XYZ"]
            if set(axes) <= set(head.columns):
                radius = np.sqrt((head[axes].to_numpy(float) ** 2).sum(axis=1))
                if EARTH_RADIUS[0] < np.nanmedian(radius) < EARTH_RADIUS[1]:
                    return axes
    return []


def degrees(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Latitude and longitude of earth-centred coordinates in metres. Source: Bowring, 1976."""
    short = LONG_AXIS * (1 - FLATTENING)
    first, second = 1 - (short / LONG_AXIS) ** 2, (LONG_AXIS / short) ** 2 - 1
    across = np.hypot(x, y)
    angle = np.arctan2(z * LONG_AXIS, across * short)
    latitude = np.arctan2(z + second * short * np.sin(angle) ** 3, across - first * LONG_AXIS * np.cos(angle) ** 3)
    return np.degrees(latitude), np.degrees(np.arctan2(y, x))
