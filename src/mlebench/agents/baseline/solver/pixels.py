"""A model of each pixel of pictures, from the pixel, what surrounds it, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import media
from .learn import Estimator, threads

SIDE = 160  # larger pictures are thinned out to about this many pixels a side
PIXELS = 200_000
SCALES = (1, 2, 4, 8, 16)
MOST_PLANES = 12
BORDER = 2  # neighbours that are features themselves, where pictures are not thinned out


def read(path: Path) -> np.ndarray:
    """The planes of a picture or of an array of pictures, shape (height, width, planes)."""
    if path.suffix.lower() != ".npy":
        return media.open_picture(path)[0].mean(axis=2)[:, :, None].astype(np.float32)
    values = np.load(path, allow_pickle=False).astype(np.float32)
    values = values.reshape(*values.shape[:2], -1)
    middle = values.shape[2] // 2
    if values.shape[2] == 1:
        return values
    return np.stack([values[:, :, middle], values[:, :, middle] - values.mean(axis=2)], axis=-1)


def read_together(paths: Sequence[Path]) -> np.ndarray:
    """The planes of several pictures of one size; of many, some, and what they have in common."""
    planes = np.concatenate([read(path) for path in paths], axis=2)
    if planes.shape[2] <= 2 * MOST_PLANES:
        return planes
    chosen = np.linspace(0, planes.shape[2] - 1, MOST_PLANES).astype(int)
    return np.dstack([planes.mean(axis=2), planes.max(axis=2), planes.std(axis=2), planes[:, :, chosen]])


def step_of(shape: Sequence[int]) -> int:
    """By how much a picture is thinned out."""
    return max(1, round(max(shape[:2]) / SIDE))


def small(values: np.ndarray) -> np.ndarray:
    """A picture thinned out to at most about SIDE rows and columns."""
    step = step_of(values.shape)
    return values[::step, ::step]


def features(planes: np.ndarray, neighbours: bool = False) -> np.ndarray:
    """For each pixel: blurred greys, edges and roughness at several scales, its place, the picture's means."""
    from scipy.ndimage import gaussian_filter

    planes = planes.astype(np.float32)
    height, width, count = planes.shape
    image = planes.mean(axis=2)
    found = [image]
    if count > 1:
        found += [part for plane in np.moveaxis(planes, 2, 0) for part in (plane, gaussian_filter(plane, 2))]
    for scale in SCALES:
        blurred = gaussian_filter(image, scale)
        vertical, horizontal = np.gradient(blurred)
        rough = np.sqrt(np.maximum(gaussian_filter(image**2, scale) - blurred**2, 0))
        found += [blurred, np.abs(vertical), np.abs(horizontal), rough]
    if neighbours:
        padded = np.pad(image, BORDER, mode="edge")
        size = 2 * BORDER + 1
        found += [padded[y : y + height, x : x + width] for y in range(size) for x in range(size)]
    down, across = np.mgrid[0:height, 0:width]
    found += [np.full(image.shape, value) for value in (image.mean(), image.std())]
    found.append(np.broadcast_to(image.mean(axis=1)[:, None], image.shape))
    found.append(np.broadcast_to(image.mean(axis=0), image.shape))
    found += [down / height, across / width]
    return np.stack(found, axis=-1).reshape(height * width, -1).astype(np.float32)


def fit(pictures: Sequence[np.ndarray], truths: Sequence[np.ndarray], seed: int, numbers: bool = False) -> Estimator:
    """A model of pixels from a sample of each picture's: of classes, or of numbers."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    rng = np.random.default_rng(seed)
    each = max(20, PIXELS // len(pictures))
    rows, y = [], []
    for planes, truth in zip(pictures, truths, strict=True):
        wanted = truth if numbers else small(truth)
        chosen = rng.choice(wanted.size, min(each, wanted.size), replace=False)
        rows.append(features(planes if numbers else small(planes), neighbours=numbers)[chosen])
        y.append(wanted.ravel()[chosen])
    matrix, answers = np.vstack(rows), np.concatenate(y)
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    with threads(0):
        return kind(max_iter=80, learning_rate=0.12, random_state=seed).fit(matrix, answers)


def predict(model: Estimator, planes: np.ndarray) -> np.ndarray:
    """Smoothed probabilities of the pixels of the thinned picture."""
    from scipy.ndimage import gaussian_filter

    with threads(0):
        shares = model.predict_proba(features(small(planes)))
    shares = shares[:, 1] if shares.shape[1] > 1 else np.full(len(shares), float(model.classes_[0]))
    return gaussian_filter(shares.reshape(small(planes).shape[:2]), 0.7)


def predict_numbers(model: Estimator, planes: np.ndarray) -> np.ndarray:
    """The number of each pixel, shape (height, width)."""
    with threads(0):
        return model.predict(features(planes, neighbours=True)).reshape(planes.shape[:2])
