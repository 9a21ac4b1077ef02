"""Which pictures are the same, whatever their files are called and however they are compressed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlebench.errors import PreparationError
from mlebench.preparation import progress


def picture_hashes(paths: Sequence[Path], text: str = "comparing pictures") -> list[str]:
    """A hash of size, mode and pixels of each picture: equal for equal pictures. Decodes them all, in parallel.

    Raises PreparationError that names a file which is no picture.
    """
    return progress.in_threads(text, _picture_hash, paths, "files")


def _picture_hash(path: Path) -> str:
    from blake3 import blake3
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            facts = f"{picture.size} {picture.mode}".encode()
            return blake3(facts + picture.tobytes()).hexdigest()
    except (UnidentifiedImageError, OSError) as error:
        raise PreparationError(f"{path.name} is no picture: {error}") from error
