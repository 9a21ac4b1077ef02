"""A number for each pixel of pictures, where training pictures have a picture of answers each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from . import pixels
from .files import IMAGES, NOT_INPUT, share_found
from .task import Task

MOST_PICTURES = 200


def applies(task: Task) -> bool:
    """Whether ids are `<picture>_<row>_<column>`, and pictures of answers stand beside pictures."""
    ids = task.sample[task.id]
    if len(task.targets) != 1 or not ids.head(50).str.fullmatch(r".+_\d+_\d+").all():
        return False
    names = list(dict.fromkeys(ids.str.rsplit("_", n=2).str[0]))
    return share_found(task.files.of_ids(names, IMAGES, "test")) == 1 and bool(pairs(task))


def pairs(task: Task) -> list[tuple[Path, Path]]:
    """Pictures, each with its picture of answers."""
    every = [path for path in task.files.paths if path.suffix.lower() in IMAGES]
    answers = [path for path in every if NOT_INPUT.search(path.parent.name)]
    inputs = task.files.of_ids([path.stem for path in answers], IMAGES, "train")
    return [(given, answer) for given, answer in zip(inputs, answers, strict=True) if given is not None]


def run(task: Task) -> list[pd.DataFrame]:
    """Learn each pixel from its surroundings; predict the pictures of the test."""
    chosen = pairs(task)[:MOST_PICTURES]
    images = [pixels.read(given) for given, _ in chosen]
    truths = [pixels.read(answer)[:, :, 0] for _, answer in chosen]
    model = pixels.fit(images, truths, task.seed, numbers=True)
    parts = task.sample[task.id].str.rsplit("_", n=2, expand=True)
    values = np.empty(len(parts))
    for name, rows in parts.groupby(0, sort=False).indices.items():
        path = task.files.of_ids([str(name)], IMAGES, "test")[0]
        assert path is not None
        picture = np.clip(pixels.predict_numbers(model, pixels.read(path)), 0, 1)
        down, across = (parts[column].iloc[rows].astype(int).to_numpy() - 1 for column in (1, 2))
        values[rows] = picture[down, across]
    return [pd.DataFrame({task.targets[0]: values.round(4)})]
