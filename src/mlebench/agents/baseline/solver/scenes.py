"""A run-length coded mask for each folder of pictures or arrays; training folders hold their mask as one more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from . import masks, pixels, thresholds
from .files import IMAGES, NOT_INPUT
from .run_lengths import encoded, usual_order
from .task import Task

PLANES = IMAGES | {".npy"}
MOST_SCENES = 200
SHARED = 0.8


@dataclass(frozen=True)
class Scenes:
    """The folder of each row of the sample, and the training folders with their masks."""

    test: list[Path]
    train: list[tuple[Path, Path]]
    names: list[str]  # the files that a scene consists of, as paths within its folder


def applies(task: Task) -> bool:
    """Whether each row has a folder, and other folders have the same files and a mask."""
    return bool(mask_column(task)) and find(task) is not None


def mask_column(task: Task) -> str | None:
    """The sample's column of masks: the first one."""
    cells = task.sample[task.targets[0]].astype(str) if task.targets else pd.Series([""])
    return task.targets[0] if cells.str.fullmatch(r"-?|(\d+ \d+ ?)+").all() else None


def find(task: Task) -> Scenes | None:
    """The folders; None if there are none."""
    every = [path for path in task.files.paths if path.suffix.lower() in PLANES]
    folders: dict[str, Path] = {}
    for path in every:
        folders.setdefault(path.parent.parent.name, path.parent.parent)
        folders[path.parent.name] = path.parent
    wanted = task.sample[task.id].tolist()
    if not all(name in folders for name in wanted):
        return None
    test = [folders[name] for name in wanted]
    names = sorted(str(path.relative_to(test[0])) for path in every if path.is_relative_to(test[0]))
    roots = {path.parents[len(Path(names[0]).parts) - 1] for path in every if path.name == Path(names[0]).name}
    train, held = [], defaultdict(list)
    for path in every:
        held[path.parent].append(path)
    for folder in sorted(roots - set(test))[:MOST_SCENES]:
        shared = [name for name in names if (folder / name).is_file()]
        extra = [path for path in held[folder] if path.name not in names]
        truth = [path for path in extra if NOT_INPUT.search(path.name) and is_mask(path)]
        if len(shared) >= SHARED * len(names) and truth:
            train.append((folder, truth[0]))
    return Scenes(test, train, names) if train else None


def is_mask(path: Path) -> bool:
    """Whether a file holds one plane of two values."""
    planes = pixels.read(path)
    return planes.shape[2] == 1 and len(np.unique(planes)) <= 2


def run(task: Task) -> list[pd.DataFrame]:
    """Learn the pixels of the training folders, and code the masks of the others."""
    found, target = find(task), mask_column(task)
    assert found is not None
    assert target is not None
    order = np.random.default_rng(task.seed).permutation(len(found.train))
    chosen = [found.train[place] for place in order]
    images = [scene(folder, found.names) for folder, _ in chosen]
    truths = [pixels.read(path)[:, :, 0] > 0.5 for _, path in chosen]
    print(f"  {len(images)} scenes of {images[0].shape}", flush=True)
    images, truths = halves(images, truths) if len(images) < 4 else (images, truths)
    model, threshold, area = masks.learn(images, truths, task)
    by_columns = usual_order(task.description)
    nothing = next((cell for cell in task.sample[target] if not any(map(str.isdigit, cell))), "")
    answers = []
    for folder in found.test:
        if task.clock.left() < 0:
            answers.append(nothing)
            continue
        image = scene(folder, found.names)
        mask = thresholds.enlarged(thresholds.cut(pixels.predict(model, image), threshold, area), image.shape)
        answers.append(encoded(mask, by_columns, 1) or nothing)
    return [pd.DataFrame({target: answers})]


def scene(folder: Path, names: Sequence[str]) -> np.ndarray:
    """The planes of a folder's files."""
    return pixels.read_together([folder / name for name in names if (folder / name).is_file()])


def halves(images: list[np.ndarray], truths: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Few scenes cut into quarters, so that some can be held out."""
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for image, truth in zip(images, truths, strict=True):
        for place, values in enumerate((image, truth)):
            parts[place].extend(q for half in np.array_split(values, 2) for q in np.array_split(half, 2, axis=1))
    return parts
