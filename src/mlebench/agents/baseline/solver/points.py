"""Signs on pages, each named and placed by a point: spots of ink are found, then classified by what they look like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import media
from .files import IMAGES, share_found
from .learn import Estimator, threads
from .task import Task

GROUP = re.compile(r"^(\S*[^\d\s.]\S*( -?\d+(\.\d+)?){4} ?)*$")  # name, left, top, width, height
SHORT_GROUP = re.compile(r"^(\S*[^\d\s.]\S*( -?\d+(\.\d+)?){2} ?)*$")  # name and point
PAGES = 150
SIGNS = 30_000
SIZE = 24.0  # of a sign, in pixels, to which pages are shrunk
CROP = 12
NOTHING = ""


@dataclass(frozen=True)
class Page:
    """Ink from 0 to 1 of a shrunk page, and by how much it was shrunk."""

    ink: np.ndarray
    scale: float


def applies(task: Task) -> bool:
    """Whether training cells are names with boxes, sample cells names with points, and each row has a picture."""
    labels = task.labels
    if labels is None or labels.form != "columns" or len(task.targets) != 1 or labels.id is None:
        return False
    cells, given = task.tables[labels.path][task.targets[0]], task.sample[task.targets[0]]
    fitting = cells.str.fullmatch(GROUP).all() and given.str.fullmatch(SHORT_GROUP).all() and (cells != "").any()
    return bool(fitting) and share_found(task.files.of_ids(task.sample[task.id].tolist(), IMAGES, "test")) > 0.9


def boxes(cell: str) -> tuple[list[str], np.ndarray]:
    """The names, and left, top, width and height of each."""
    tokens = cell.split()
    return tokens[0::5], np.array([tokens[k::5] for k in range(1, 5)], dtype=float).T.reshape(-1, 4)


def run(task: Task) -> list[pd.DataFrame]:
    """Learn to name spots from the training pages; a spot that is in no box has no name."""
    labels, target = task.labels, task.targets[0]
    assert labels is not None
    assert labels.id is not None
    table = task.train_texts.sample(frac=1, random_state=task.seed).head(PAGES)
    known = [boxes(cell) for cell in table[target]]
    side = float(np.median(np.concatenate([places[:, 2:].ravel() for _, places in known])))
    crops, names, clock = [], [], task.clock.part(0.4)
    paths = task.files.of_ids(table[labels.id].tolist(), IMAGES, "train")
    for path, (found, places) in zip(paths, known, strict=True):
        page = None if path is None or clock.left() < 0 else read(path, side)
        if page is not None and sum(map(len, names)) < SIGNS:
            spots = spots_of(page)
            crops.append(crops_of(page, spots))
            names.append([name_at(spot, found, places) for spot in spots / page.scale])
    model = fit(np.concatenate(crops), [name for part in names for name in part], task.seed)
    tests = task.files.of_ids(task.sample[task.id].tolist(), IMAGES, "test")
    answers = []
    for path, given in zip(tests, task.sample[target], strict=True):
        page = None if path is None or task.clock.left() < 0 else read(path, side)
        answers.append(given if page is None else written(page, model))
    return [pd.DataFrame({target: answers})]


def read(path: Path, side: float) -> Page | None:
    """A page whose signs have about SIZE pixels; None if it can't be read."""
    from scipy.ndimage import zoom

    pictures = media.read_all([path], lambda one: media.open_picture(one)[0].mean(axis=2), media.forever())
    if pictures[0] is None:
        return None
    scale = min(1.0, SIZE / side)
    grey = np.asarray(zoom(pictures[0], scale, order=1)) if scale < 1 else pictures[0]
    paper = np.quantile(grey, 0.8)
    return Page(np.clip((paper - grey) / max(1e-3, paper - grey.min()), 0, 1), scale)


def spots_of(page: Page) -> np.ndarray:
    """The places, x and y, where there is more ink than around."""
    from scipy.ndimage import gaussian_filter, maximum_filter

    density = gaussian_filter(page.ink, SIZE / 6)
    peaks = (density == maximum_filter(density, int(SIZE / 2))) & (density > 0.3 * np.quantile(density, 0.98))
    down, across = np.nonzero(peaks)
    return np.column_stack([across, down]).astype(float)


def crops_of(page: Page, spots: np.ndarray) -> np.ndarray:
    """What stands around each spot, a row of features for each."""
    half = int(SIZE / 2)
    padded = np.pad(page.ink, half)
    found = [padded[int(y) : int(y) + 2 * half, int(x) : int(x) + 2 * half] for x, y in spots]
    step = 2 * half // CROP
    coarse = [crop.reshape(CROP, step, CROP, step).mean((1, 3)).ravel() for crop in found]
    return np.array(coarse).reshape(-1, CROP * CROP)


def name_at(spot: np.ndarray, names: list[str], places: np.ndarray) -> str:
    """The name of the box that holds a point."""
    inside = ((spot > places[:, :2]) & (spot < places[:, :2] + places[:, 2:])).all(axis=1)
    return names[int(np.argmax(inside))] if inside.any() else NOTHING


def fit(crops: np.ndarray, names: list[str], seed: int) -> Estimator:
    """A model of the name of a spot."""
    from sklearn.ensemble import ExtraTreesClassifier

    with threads(0):
        return ExtraTreesClassifier(100, min_samples_leaf=2, random_state=seed).fit(crops, names)


def written(page: Page, model: Estimator) -> str:
    """The named spots of a page."""
    spots = spots_of(page)
    if not len(spots):
        return ""
    named = zip(model.predict(crops_of(page, spots)), spots / page.scale, strict=True)
    return " ".join(f"{name} {x + 0.5:.1f} {y + 0.5:.1f}" for name, (x, y) in named if name != NOTHING)
