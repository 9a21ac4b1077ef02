"""What files tell about where they came from: inode numbers and times, which follow the order of an archive.

Archives are often sorted by label. A hard link shares the inode of the raw file, so that a test file would lie, by
its number and times, among the training files of its own class.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from mlebench.preparation import progress
from mlebench.preparation.files import copy_file, walk

MOMENT = 1_262_304_000  # 2010-01-01, the time of all test files


def hide_origins(public: Path) -> None:
    """Give the files below folders named `test…` inodes of their own, in random order, and all the same time.

    Other files keep their links: of training files the label is known, and where both kinds lie in one folder
    the raw files did, under names that tell no label.
    """
    files = [path for path in walk(public) if is_for_testing(path.relative_to(public))]
    random.SystemRandom().shuffle(files)
    with progress.step("hiding where test files came from", len(files)) as done:
        for path in files:
            copy = path.with_name(f".{path.name}.own")
            copy_file(path, copy)
            os.utime(copy, (MOMENT, MOMENT))
            copy.replace(path)
            done()


def is_for_testing(path: Path) -> bool:
    """Whether a file below public lies in a folder named `test…`."""
    return any(part.lower().startswith("test") for part in path.parts[:-1])
