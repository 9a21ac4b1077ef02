"""A run-length coded mask for each picture, by a classifier of its pixels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from . import media
from .files import IMAGES, NOT_INPUT, share_found
from .learn import threads
from .task import Task

RUNS = re.compile(r"^\s*(\d+\s+\d+\s*)*$")
SIDE = 160  # larger pictures are shrunk to this many pixels a side
PIXELS = 200_000
TRAIN_PICTURES = 1_500
HELD_OUT = 0.2
SCALES = (1, 2, 4, 8, 16)


def applies(task: Task) -> bool:
    """Whether the answers are runs, and there is a picture for each row."""
    labels = task.labels
    if labels is None or labels.form != "columns" or len(task.targets) != 1 or labels.id is None:
        return False
    cells = [str(cell) for cell in task.tables[labels.path][task.targets[0]]]
    if not all(RUNS.match(cell) for cell in cells) or np.mean([len(cell.split()) >= 4 for cell in cells]) < 0.2:
        return False
    return share_found(task.files.of_ids(task.sample[task.id].tolist(), IMAGES, "test")) > 0.9


def run(task: Task) -> list[pd.DataFrame]:
    """Learn pixels, choose the threshold and the least area on held-out pictures, code the test's masks."""
    labels, target = task.labels, task.targets[0]
    assert labels is not None
    assert labels.id is not None
    table = task.train_texts.drop_duplicates(labels.id).sample(frac=1, random_state=task.seed).head(TRAIN_PICTURES)
    paths = task.files.of_ids(table[labels.id].tolist(), IMAGES, "train")
    pictures = media.read_all(paths, grey, task.clock.part(0.25))
    known = [place for place, picture in enumerate(pictures) if picture is not None]
    images = [picture for picture in pictures if picture is not None]
    by_columns, first = code_of(task, table, known, images)
    print(f"  {len(known)} pictures, runs down the columns: {by_columns}, first pixel {first}", flush=True)
    cells = [table[target].iloc[place] for place in known]
    masks = [decoded(cell, image.shape, by_columns, first) for cell, image in zip(cells, images, strict=True)]
    train = max(1, round((1 - HELD_OUT) * len(images)))
    model = fit(images[:train], masks[:train], task.seed)
    shares = [predict(model, image) for image in images[train : train + 200]]
    threshold, area = choose(shares, [small(mask) for mask in masks[train : train + 200]])
    print(f"  threshold {threshold:.2f}, least area {area:.4f}", flush=True)
    tests = task.files.of_ids(task.sample[task.id].tolist(), IMAGES, "test")
    answers = []
    for path, given in zip(tests, task.sample[target], strict=True):
        image = media.read_all([path], grey, task.clock)[0]
        answers.append(given if image is None else encoded(mask_of(model, image, threshold, area), by_columns, first))
    return [pd.DataFrame({target: answers})]


def grey(path: Path) -> np.ndarray:
    """The picture as grey values (height, width)."""
    return media.open_picture(path)[0].mean(axis=2)


# --- the code


def decoded(cell: str, shape: tuple[int, ...], by_columns: bool, first: int) -> np.ndarray:
    """The mask (height, width) that runs of start and length describe; what lies past the end is left out."""
    numbers = np.array(cell.split(), dtype=int)
    flat = np.zeros(shape[0] * shape[1] + 1, dtype=int)
    starts = np.clip(numbers[0::2] - first, 0, len(flat) - 1)
    ends = np.clip(starts + numbers[1::2], 0, len(flat) - 1)
    np.add.at(flat, starts, 1)
    np.add.at(flat, ends, -1)
    mask = np.cumsum(flat)[:-1] > 0
    return mask.reshape(shape[1], shape[0]).T if by_columns else mask.reshape(shape[0], shape[1])


def encoded(mask: np.ndarray, by_columns: bool, first: int) -> str:
    """The runs of a mask."""
    flat = np.concatenate([[0], (mask.T if by_columns else mask).astype(np.int8).ravel(), [0]])
    edges = np.flatnonzero(np.diff(flat))
    return " ".join(f"{start + first} {end - start}" for start, end in zip(edges[::2], edges[1::2], strict=True))


def code_of(task: Task, table: pd.DataFrame, known: Sequence[int], images: Sequence[np.ndarray]) -> tuple[bool, int]:
    """Whether runs go down the columns, and the number of the first pixel: as the masks' pictures show, if any."""
    labels = task.labels
    assert labels is not None
    cells = [table[task.targets[0]].iloc[place] for place in known]
    names = [table[labels.id].iloc[place] for place in known]
    zero_based = any(cell.split()[0] == "0" for cell in cells if cell.strip())
    drawn = mask_pictures(task)
    options = [(by_columns, 0 if zero_based else first) for by_columns in (True, False) for first in (1, 0)]
    agreement = dict.fromkeys(options, 0.0)
    for name, cell, image in list(zip(names, cells, images, strict=True))[:40]:
        path = drawn.get(name)
        if path is None or not cell.strip():
            continue
        truth = grey(path) > 0.5
        if truth.shape == image.shape:
            for option in options:
                agreement[option] += (decoded(cell, truth.shape, *option) == truth).mean()
    if any(agreement.values()):
        return max(options, key=agreement.__getitem__)
    by_rows = re.search(r"row[- ]major|left to right,? then|along the rows", task.description, re.IGNORECASE)
    return not by_rows, 0 if zero_based else 1


def mask_pictures(task: Task) -> dict[str, Path]:
    """Pictures of masks by stem."""
    folders = [path for path in task.files.paths if path.suffix.lower() in IMAGES]
    return {path.stem: path for path in folders if NOT_INPUT.search(path.parent.name)}


# --- the model


def small(values: np.ndarray) -> np.ndarray:
    """An array thinned out to at most about SIDE rows and columns."""
    step = max(1, round(max(values.shape) / SIDE))
    return values[::step, ::step]


def features(image: np.ndarray) -> np.ndarray:
    """For each pixel: blurred greys, edges and roughness at several scales, its place, the picture's means."""
    from scipy.ndimage import gaussian_filter

    image = small(image).astype(np.float32)
    height, width = image.shape
    planes = [image]
    for scale in SCALES:
        blurred = gaussian_filter(image, scale)
        vertical, horizontal = np.gradient(blurred)
        rough = np.sqrt(np.maximum(gaussian_filter(image**2, scale) - blurred**2, 0))
        planes += [blurred, np.abs(vertical), np.abs(horizontal), rough]
    down, across = np.mgrid[0:height, 0:width]
    means = [np.full(image.shape, value) for value in (image.mean(), image.std())]
    along = [
        np.broadcast_to(image.mean(axis=1)[:, None], image.shape),
        np.broadcast_to(image.mean(axis=0), image.shape),
    ]
    planes += [down / height, across / width, *means, *along]
    return np.stack(planes, axis=-1).reshape(height * width, -1).astype(np.float32)


def fit(images: Sequence[np.ndarray], masks: Sequence[np.ndarray], seed: int):  # noqa: ANN201 (an estimator)
    """A classifier of pixels from a sample of each picture's."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(seed)
    each = max(20, PIXELS // len(images))
    rows, y = [], []
    for image, mask in zip(images, masks, strict=True):
        truth = small(mask).ravel()
        chosen = rng.choice(len(truth), min(each, len(truth)), replace=False)
        rows.append(features(image)[chosen])
        y.append(truth[chosen])
    matrix, answers = np.vstack(rows), np.concatenate(y)
    with threads(0):
        model = HistGradientBoostingClassifier(max_iter=80, learning_rate=0.12, random_state=seed)
        return model.fit(matrix, answers)


def predict(model, image: np.ndarray) -> np.ndarray:  # noqa: ANN001
    """Smoothed probabilities of the pixels of the thinned picture."""
    from scipy.ndimage import gaussian_filter

    with threads(0):
        shares = model.predict_proba(features(image))
    shares = shares[:, 1] if shares.shape[1] > 1 else np.full(len(shares), float(model.classes_[0]))
    return gaussian_filter(shares.reshape(small(image).shape), 1.0)


def cut(shares: np.ndarray, threshold: float, area: float) -> np.ndarray:
    """The mask above a threshold, empty if it covers less than the least area."""
    mask = shares > threshold
    return mask if mask.mean() >= area else np.zeros_like(mask)


def choose(shares: list[np.ndarray], masks: list[np.ndarray]) -> tuple[float, float]:
    """Threshold and least area with the best mean precision over overlaps from 0.5 to 0.95."""
    options = [(threshold, area) for threshold in np.arange(0.2, 0.81, 0.1) for area in (0.0, 0.005, 0.01, 0.02, 0.04)]

    def value(option: tuple[float, float]) -> float:
        return float(np.mean([precision(cut(p, *option), mask) for p, mask in zip(shares, masks, strict=True)]))

    return max(options, key=value) if shares else (0.5, 0.0)


def precision(mask: np.ndarray, truth: np.ndarray) -> float:
    """Share of the thresholds 0.5, 0.55 … 0.95 that the overlap exceeds, with some weight on the overlap itself."""
    union = (mask | truth).sum()
    overlap = (mask & truth).sum() / union if union else 1.0
    return float((overlap > np.arange(0.5, 1.0, 0.05)).mean() + 0.1 * overlap)


def mask_of(model, image: np.ndarray, threshold: float, area: float) -> np.ndarray:  # noqa: ANN001
    """The mask at the picture's own size."""
    mask = cut(predict(model, image), threshold, area)
    step = max(1, round(max(image.shape) / SIDE))
    return np.kron(mask, np.ones((step, step), dtype=bool))[: image.shape[0], : image.shape[1]]
