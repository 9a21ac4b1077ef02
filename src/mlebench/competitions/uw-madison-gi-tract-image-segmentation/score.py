"""Dice of each mask, Hausdorff distance of each scan. Edition v1 takes rows by position, v2 by id and class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.metrics.segmentation import IntArray, as_codes, mask_areas, read_runs
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
    true, predicted = answers["predicted"].to_numpy(), submission["predicted"].to_numpy()
    heights, widths = (answers[name].to_numpy(np.int64) for name in ("image_height", "image_width"))
    scans = answers["id"].str.split("_slice_").str[0]
    distances = []
    for rows in scans.groupby(scans).indices.values():
        layers = np.unique(answers["id"].iloc[rows], return_inverse=True)[1]
        size = (int(layers.max()) + 1, int(heights[rows[0]]), int(widths[rows[0]]))
        distances.append(_distance(_voxels(true[rows], layers, size), _voxels(predicted[rows], layers, size), size))
    return 0.4 * _mean_dice(true, predicted, heights * widths) + 0.6 * (1 - _mean(np.array(distances)))


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same, rows paired by id and class."""
    keys = ["id", "class"]
    return score(answers[keys].merge(submission, on=keys, how="left"), answers)


def _mean_dice(true: np.ndarray, predicted: np.ndarray, pixels: IntArray) -> float:
    """Over the masks that are not empty on both sides."""
    true_area, predicted_area, both = mask_areas(true, predicted, pixels=pixels)
    total = true_area + predicted_area
    return _mean(2 * both[total > 0] / total[total > 0])


def _mean(values: np.ndarray) -> float:
    """The mean of what is no NaN; NaN if there is nothing."""
    return float(np.mean(values[~np.isnan(values)])) if np.any(~np.isnan(values)) else math.nan


def _voxels(codes: np.ndarray, layers: IntArray, size: tuple[int, int, int]) -> IntArray:
    """Which voxels of a scan the masks of its layers cover, numbered layer by layer and column by column."""
    _, height, width = size
    runs = read_runs(as_codes(codes), height * width)
    starts = layers[runs.masks] * height * width + runs.starts
    before = np.cumsum(runs.lengths) - runs.lengths
    return np.unique(np.repeat(starts - before, runs.lengths) + np.arange(runs.lengths.sum()))


def _distance(true: IntArray, predicted: IntArray, size: tuple[int, int, int]) -> float:
    """The Hausdorff distance in shares of the scan's size, from 0 to 1; NaN if there is nothing on both sides."""
    if len(true) == 0 and len(predicted) == 0:
        return math.nan
    if len(true) == 0 or len(predicted) == 0 or len(predicted) > TOO_LARGE * len(true):
        return 1.0
    layers, height, width = size
    spacing = (1 / layers, 1 / width, 1 / height)
    first, second = (np.column_stack(np.unravel_index(voxels, (layers, width, height))) for voxels in (true, predicted))
    return hausdorff_distance(first, second, spacing=spacing) / math.sqrt(3)
