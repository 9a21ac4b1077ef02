"""Which pictures are the same, whatever their files are called and however they are compressed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlebench.errors import PreparationError
from mlebench.preparation import progress


def picture_hashes(paths: Sequence[Path], text: str = "comparing pictures") -> list[str]:
    """A hash of size, mode and pixels of each picture: equal for equal pictures. Decodes them all, in parallel.

    Raises PreparationError that names a file which is no picture.
    """
    with progress.step(text, len(paths)) as done, ThreadPoolExecutor(os.cpu_count() or 1) as pool:

        def one(path: Path) -> str:
            found = _picture_hash(path)
            done()
            return found

        return list(pool.map(one, paths))


def _picture_hash(path: Path) -> str:
    from blake3 import blake3
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            facts = f"{picture.size} {picture.mode}".encode()
            return blake3(facts + picture.tobytes()).hexdigest()
    except (UnidentifiedImageError, OSError) as error:
        raise PreparationError(f"{path.name} is no picture: {error}") from error
