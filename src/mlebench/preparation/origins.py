"""What files tell about where they came from: inode numbers and times, which follow the order of an archive.

Archives are often sorted by label. A hard link shares the inode of the raw file, so that a test file would lie, by
its number and times, among the training files of its own class.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from mlebench.preparation.placing import Pair, copy_file, for_each, paths_in

MOMENT = 1_262_304_000  # 2010-01-01, the time of all test files


def hide_origins(public: Path) -> None:
    """Give the files below folders named `test…` inodes of their own, in random order, and all the same time.

    Other files keep their links: of training files the label is known, and where both kinds lie in one folder
    the raw files did, under names that tell no label.
    """
    files = [f"{public}/{path}" for path in paths_in(public) if is_for_testing(path)]
    random.SystemRandom().shuffle(files)
    for_each([(path, _beside(path)) for path in files], _replace, "hiding where test files came from")


def _beside(path: str) -> str:
    parent, _, name = path.rpartition("/")
    return f"{parent}/.{name}.own"


def _replace(pair: Pair) -> None:
    path, copy = pair
    copy_file(path, copy)
    os.utime(copy, (MOMENT, MOMENT))
    os.replace(copy, path)  # noqa: PTH105, for speed


def is_for_testing(path: str) -> bool:
    """Whether a file at `path` below public lies in a folder named `test…`."""
    return any(part.lower().startswith("test") for part in path.split("/")[:-1])
