"""Dice of each mask, Hausdorff distance of each scan. Edition v1 takes rows by position, v2 by id and class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.metrics._checks import FloatArray
from mlebench.metrics.segmentation import (
    Runs,
    areas,
    as_codes,
    intersections,
    painted_runs,
    read_runs,
    stacked_runs,
)
from mlebench.metrics.volumes import hausdorff_distance
from mlebench.preparation.files import walk
from mlebench.submission import Problem

TOO_LARGE = 10  # times the true volume


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Runs end within their own slice, whose size stands in the name of its file."""
    pixels = {}
    for path in walk(public / "test"):
        _, number, width, height, *_ = f"{path.stem}____".split("_")
        if width.isdigit() and height.isdigit():
            pixels[f"{path.parent.parent.name}_slice_{number}"] = int(width) * int(height)
    yield from faulty_masks(table["predicted"], table["id"].map(pixels).to_numpy(np.int64))


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """0.4 · mean Dice + 0.6 · (1 − mean Hausdorff distance), rows of both in the same order."""
    true, predicted = as_codes(answers["predicted"].to_numpy()), as_codes(submission["predicted"].to_numpy())
    scans = answers["id"].str.split("_slice_").str[0]
    dice, distances = [], []
    for rows in scans.groupby(scans).indices.values():
        slices, layers = np.unique(answers["id"].iloc[rows].to_numpy(dtype=str), return_inverse=True)
        sizes = answers[["image_width", "image_height"]].iloc[rows].drop_duplicates()
        if len(sizes) > 1:  # slices that make no volume
            return math.nan
        width, height = sizes.iloc[0].astype(int)
        both_runs = [read_runs([codes[row] for row in rows], height * width) for codes in (true, predicted)]
        dice.append(_dice(*both_runs, masks=len(rows)))
        bodies = [stacked_runs(runs, layers, height * width) for runs in both_runs]
        distances.append(_distance(*bodies, shape=(len(slices), width, height)))
    return 0.4 * _mean(np.concatenate(dice)) + 0.6 * (1 - _mean(np.array(distances)))


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same, rows paired by id and class."""
    keys = ["id", "class"]
    return score(answers[keys].merge(submission, on=keys, how="left"), answers)


def _dice(true: Runs, predicted: Runs, masks: int) -> FloatArray:
    """The Dice coefficient of each mask, shape (masks,); NaN where it is empty on both sides."""
    total = areas(true, masks) + areas(predicted, masks)
    shared = intersections(true, predicted, masks)
    return np.divide(2 * shared, total, out=np.full(masks, np.nan), where=total > 0)


def _mean(values: FloatArray) -> float:
    """The mean of what is no NaN; NaN if there is nothing."""
    counted = values[~np.isnan(values)]
    return float(np.mean(counted)) if len(counted) else math.nan


def _distance(true: Runs, predicted: Runs, shape: tuple[int, int, int]) -> float:
    """The Hausdorff distance in shares of the scan's size, from 0 to 1; NaN if there is nothing on both sides.

    Each body is one mask of the whole scan; `shape`: its slices, columns and rows.
    """
    true_size, predicted_size = int(true.lengths.sum()), int(predicted.lengths.sum())
    if true_size == 0 and predicted_size == 0:
        return math.nan
    if true_size == 0 or predicted_size == 0 or predicted_size > TOO_LARGE * true_size:
        return 1.0
    volumes = (painted_runs(runs, 1, math.prod(shape)).reshape(shape) for runs in (true, predicted))
    return hausdorff_distance(*volumes, spacing=1 / np.array(shape)) / math.sqrt(3)
