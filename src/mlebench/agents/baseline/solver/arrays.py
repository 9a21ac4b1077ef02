"""Numbers from measurements: arrays of NumPy's format, and tables of numbers that belong to one row each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

MOST_COLUMNS = 24
STEPS = 12  # over which the course of a measurement is shown
GRID = 12


def measurements(path: Path) -> np.ndarray:
    """What is typical of each measurement in a file, and how it changes."""
    if path.suffix.lower() == ".csv":
        return of_columns(pd.read_csv(path).select_dtypes("number").to_numpy(float)[:, :MOST_COLUMNS])
    values = np.load(path, allow_pickle=False)
    values = np.nan_to_num(values.astype(np.float32))
    if values.ndim <= 1:
        return of_columns(values.reshape(-1, 1))
    return of_planes(values.reshape(-1, *values.shape[-2:]))


def of_columns(values: np.ndarray) -> np.ndarray:
    """For each column (rows are moments): statistics, quantiles, the strength of changes, its course; gaps."""
    found = []
    for column in values.T:
        known = column[np.isfinite(column)]
        found.append(np.array([np.isfinite(column).mean()]))
        found.append(statistics(known) if len(known) > 1 else np.full(11 + 2 * STEPS, np.nan))
    return np.concatenate(found)


def statistics(values: np.ndarray) -> np.ndarray:
    """Of a run of numbers: mean, spread, quantiles, the size of steps, means and spreads of its stretches."""
    steps = np.abs(np.diff(values))
    parts = np.array_split(values, STEPS)
    course = [part.mean() if len(part) else np.nan for part in parts]
    rough = [part.std() if len(part) else np.nan for part in parts]
    quantiles = np.quantile(values, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    return np.array([values.mean(), values.std(), *quantiles, steps.mean(), steps.max(), *course, *rough])


def of_planes(planes: np.ndarray) -> np.ndarray:
    """Of layers of pictures, shape (layers, rows, columns): coarse pictures of mean and of extremes, and profiles."""
    mean, spread = planes.mean(axis=0), planes.std(axis=0)
    layers = [np.array([plane.mean(), plane.std(), plane.max(), plane.min()]) for plane in planes[:MOST_COLUMNS]]
    contrast = planes[::2].mean(axis=0) - planes[1::2].mean(axis=0) if len(planes) > 1 else mean
    pictures = [coarse(mean), coarse(contrast), coarse(spread), coarse(planes.max(axis=0))]
    profiles = [
        np.sort(picture.max(axis=axis) - picture.mean(axis=axis))[-3:]
        for picture in (mean, contrast)
        for axis in (0, 1)
    ]
    return np.concatenate([*layers, *pictures, *profiles])


def coarse(picture: np.ndarray) -> np.ndarray:
    """The means of about GRID × GRID parts of a picture."""
    rows, columns = (np.array_split(np.arange(size), min(GRID, size)) for size in picture.shape)
    across = np.stack([picture[:, part].mean(axis=1) for part in columns], axis=1)
    return np.stack([across[part].mean(axis=0) for part in rows]).ravel()
