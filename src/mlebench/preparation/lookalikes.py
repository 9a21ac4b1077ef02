"""Which pictures are the same but for scale and compression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from mlebench.errors import PreparationError
from mlebench.preparation import progress

_SIDE = 16
_BLOCK = 1000  # pictures that are compared with all others at once


def lookalikes(pictures: Sequence[Path], limit: float = 4.0) -> np.ndarray:
    """For each picture the place of the first one in its group; shape (pictures,).

    Two pictures belong together if their grey thumbnails of 16 x 16 pixels differ by less than `limit` of 255 grey
    levels (root mean square), or if others in between make a chain of such pairs. Raises PreparationError that names
    a file which is no picture.
    """
    thumbnails = _thumbnails(pictures)
    pairs = [_pairs(thumbnails, start, limit) for start in range(0, len(thumbnails), _BLOCK)]
    return _components(np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs]), len(thumbnails))


def _thumbnails(pictures: Sequence[Path]) -> np.ndarray:
    """Grey levels, float32, shape (pictures, 256)."""
    found = progress.in_threads("looking for pictures that are the same", _thumbnail, pictures, "files")
    return np.array(found, dtype=np.float32).reshape(len(pictures), _SIDE**2)


def _thumbnail(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as opened:
            opened.draft("L", (4 * _SIDE, 4 * _SIDE))  # JPEG: decodes no more than that takes
            small = opened.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    except OSError as error:
        raise PreparationError(f"the picture {path.name} can't be read: {error}") from error
    return np.asarray(small, dtype=np.float32).ravel()


def _pairs(thumbnails: np.ndarray, start: int, limit: float) -> np.ndarray:
    """The places of two alike, (pairs, 2), the first within the block that begins at `start`, the second behind it."""
    block = thumbnails[start : start + _BLOCK]
    squares = (thumbnails**2).sum(axis=1)
    distance = squares[start : start + _BLOCK, None] + squares - 2 * block @ thumbnails.T
    first, second = np.nonzero(distance < limit**2 * thumbnails.shape[1])
    first += start
    return np.stack([first, second], axis=1)[first < second]


def _components(pairs: np.ndarray, count: int) -> np.ndarray:
    """The smallest place that chains of pairs lead to, for each of `count` places."""
    group = np.arange(count)
    while True:
        smaller = np.minimum(group[pairs[:, 0]], group[pairs[:, 1]])
        before = group.copy()
        for side in (0, 1):
            np.minimum.at(group, pairs[:, side], smaller)
        if (group == before).all():
            return group
