"""Writing files so that a reader never sees half of one; removing what a stranger left."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def nearest_existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


def write_text(path: Path, text: str) -> None:
    """Write `text` to a temporary name beside `path`, flush it to disk, and rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


def strict(value: Any) -> Any:
    """`value` with mappings as dict, sequences as list, and NaN and infinities as text: JSON has none of these.

    >>> strict({"score": float("inf"), "ranks": (1, 2)})
    {'score': 'inf', 'ranks': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def remove_tree(path: Path) -> None:
    """Remove a folder with all below it; links are not followed. Nothing happens if there is none.

    By the program rm: `shutil.rmtree` gives up on folders nested some hundred deep, as an agent may leave them.
    """
    subprocess.run(["rm", "-rf", "--", os.fspath(path)], check=True)
