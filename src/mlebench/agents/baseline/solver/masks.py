"""A run-length coded mask for each picture (and each class of things in it), by a classifier of its pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import media, pixels, thresholds
from .files import IMAGES, NOT_INPUT, share_found
from .run_lengths import RUNS, decoded, encoded, usual_order
from .task import Task

TRAIN_PICTURES = 1_500
HELD_OUT = 0.2
FEW_KINDS = 30


@dataclass(frozen=True)
class Code:
    """How runs are counted."""

    by_columns: bool
    first: int


def applies(task: Task) -> bool:
    """Whether the answers are runs, and there is a picture for each row."""
    labels = task.labels
    if labels is None or labels.form not in ("columns", "renamed") or len(task.targets) != 1 or labels.id is None:
        return False
    cells = [str(cell) for cell in task.tables[labels.path][labels.columns[0]]]
    if not all(RUNS.match(cell) for cell in cells) or np.mean([len(cell.split()) >= 4 for cell in cells]) < 0.2:
        return False
    return share_found(task.files.of_ids(task.sample[task.id].tolist(), IMAGES, "test")) > 0.9


def run(task: Task) -> list[pd.DataFrame]:
    """For each class learn pixels, choose the threshold on held-out pictures, and code the test's masks."""
    labels, target = task.labels, task.targets[0]
    assert labels is not None
    table = task.train_texts.rename(columns={labels.columns[0]: target})
    kind = kind_column(task, table)
    answers = task.sample[target].tolist()
    for name in sorted(set(task.sample[kind])) if kind else [""]:
        part = table[table[kind] == name] if kind else table
        rows = np.flatnonzero(task.sample[kind] == name) if kind else np.arange(len(task.sample))
        for row, cell in zip(rows, solve(task, part, rows), strict=True):
            answers[row] = answers[row] if cell is None else cell
    return [pd.DataFrame({target: answers})]


def kind_column(task: Task, table: pd.DataFrame) -> str | None:
    """The column that tells what a mask shows, where a picture has several."""
    options = [name for name in task.ids if name != task.id and name in table.columns]
    return next((name for name in options if task.sample[name].nunique() <= FEW_KINDS), None)


def solve(task: Task, table: pd.DataFrame, rows: np.ndarray) -> list[str | None]:
    """The codes of the masks for rows of the sample; None where a picture can't be read."""
    labels, target = task.labels, task.targets[0]
    assert labels is not None
    assert labels.id is not None
    table = table.drop_duplicates(labels.id).sample(frac=1, random_state=task.seed).head(TRAIN_PICTURES)
    paths = task.files.of_ids(table[labels.id].tolist(), IMAGES, "train")
    read = media.read_all(paths, pixels.read, task.clock.part(0.25))
    known = [place for place, picture in enumerate(read) if picture is not None]
    images = [picture for picture in read if picture is not None]
    cells, names = [table[target].iloc[place] for place in known], [table[labels.id].iloc[place] for place in known]
    code = code_of(task, names, cells, images)
    masks = [decoded(c, image.shape, code.by_columns, code.first) for c, image in zip(cells, images, strict=True)]
    print(f"  {len(known)} pictures, {code}", flush=True)
    model, threshold, area = learn(images, masks, task)
    tests = task.files.of_ids(task.sample[task.id].iloc[rows].tolist(), IMAGES, "test")
    found: list[str | None] = []
    for image in media.read_all(tests, pixels.read, task.clock):
        if image is None:
            found.append(None)
            continue
        mask = thresholds.enlarged(thresholds.cut(pixels.predict(model, image), threshold, area), image.shape)
        found.append(encoded(mask, code.by_columns, code.first))
    return found


def learn(images: Sequence[np.ndarray], masks: Sequence[np.ndarray], task: Task):  # noqa: ANN201 (an estimator …)
    """A model of pixels, and threshold and least area by how it does on pictures held out."""
    train = max(1, round((1 - HELD_OUT) * len(images)))
    model = pixels.fit(images[:train], masks[:train], task.seed)
    shares = [pixels.predict(model, image) for image in images[train : train + 200]]
    truths = [pixels.small(mask) for mask in masks[train : train + 200]]
    threshold, area = thresholds.choose(shares, truths, task.description)
    print(f"  threshold {threshold:.2f}, least area {area:.4f}", flush=True)
    return model, threshold, area


def code_of(task: Task, names: Sequence[str], cells: Sequence[str], images: Sequence[np.ndarray]) -> Code:
    """Whether runs go down the columns, and the number of the first pixel: as the masks' pictures show, if any."""
    zero_based = any(cell.split()[0] == "0" for cell in cells if cell.strip())
    drawn = mask_pictures(task)
    options = [Code(by_columns, 0 if zero_based else first) for by_columns in (True, False) for first in (1, 0)]
    agreement = dict.fromkeys(options, 0.0)
    for name, cell, image in list(zip(names, cells, images, strict=True))[:40]:
        path = drawn.get(name)
        if path is None or not cell.strip():
            continue
        truth = pixels.read(path)[:, :, 0] > 0.5
        if truth.shape == image.shape[:2]:
            for option in options:
                agreement[option] += (decoded(cell, truth.shape, option.by_columns, option.first) == truth).mean()
    if any(agreement.values()):
        return max(options, key=agreement.__getitem__)
    return Code(usual_order(task.description), 0 if zero_based else 1)


def mask_pictures(task: Task) -> dict[str, Path]:
    """Pictures of masks by stem."""
    folders = [path for path in task.files.paths if path.suffix.lower() in IMAGES]
    return {path.stem: path for path in folders if NOT_INPUT.search(path.parent.name)}
