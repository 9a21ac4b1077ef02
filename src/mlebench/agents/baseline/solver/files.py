"""The public files: which there are, and which belong to an id."""

from __future__ import annotations

import io
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".dcm", ".dicom"}
SOUNDS = {".wav", ".aif", ".aiff"}
NOTES = {".xyz", ".txt", ".json"}  # small texts, one for each id
TABLE = re.compile(r"\.(csv|tsv)(\.gz|\.zip|\.bz2|\.xz)?$", re.IGNORECASE)
NOT_INPUT = re.compile(r"mask|label|annotation|segment|cleaned|ground|target", re.IGNORECASE)
HEAD_ROWS = 300
LARGE_BYTES = 160 << 20
BLOCKS = 64


class Files:
    """All files below `root`, found once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths: list[Path] = []
        for folder, folders, names in os.walk(root):
            folders.sort()
            self.paths += [Path(folder, name) for name in sorted(names)]

    @cached_property
    def tables(self) -> dict[Path, pd.DataFrame]:
        """The first rows of every table at most two folders deep, all cells as text."""
        found = {}
        for path in self.paths:
            if TABLE.search(path.name) and len(path.relative_to(self.root).parts) <= 3 and len(found) < 60:
                try:
                    found[path] = read_text_table(path, rows=HEAD_ROWS)
                except (ValueError, OSError):
                    continue
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Path]]:
        """Files of images, sounds and notes by stem, by name, and by the folder that holds them alone."""
        names: dict[str, list[Path]] = defaultdict(list)
        in_folder: dict[Path, list[Path]] = defaultdict(list)
        for path in self.paths:
            if path.suffix.lower() in IMAGES | SOUNDS | NOTES:
                names[path.stem].append(path)
                names[path.name].append(path)
                in_folder[path.parent].append(path)
        for folder, paths in in_folder.items():
            if len(paths) == 1:
                names[folder.name] += paths
        return names

    def of_ids(self, ids: Sequence[str], kinds: Iterable[str], role: str) -> list[Path | None]:
        """For each id the file of one of these suffixes, None where there is none.

        `role` ("train" or "test") decides between files of one name; masks and the like are left out.
        """
        kinds = set(kinds)
        other = "test" if role == "train" else "train"

        def preference(path: Path) -> tuple[bool, bool, int]:
            folders = "/".join(path.relative_to(self.root).parts[:-1]).lower()
            return (other in folders, role not in folders, len(path.parts))

        found: list[Path | None] = []
        for name in ids:
            options = [path for path in self._by_name.get(str(name), ()) if path.suffix.lower() in kinds]
            options = [path for path in options if not NOT_INPUT.search(str(path.relative_to(self.root).parent))]
            found.append(min(options, key=preference) if options else None)
        return found


def share_found(paths: Sequence[Path | None]) -> float:
    """The share of paths that are there."""
    return sum(path is not None for path in paths) / max(1, len(paths))


def read_text_table(path: Path, rows: int | None = None) -> pd.DataFrame:
    """A table with all cells as text, empty ones as empty text."""
    separator = "\t" if ".tsv" in path.name.lower() else ","
    return pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows, sep=separator)


def read_table(path: Path, text_columns: Iterable[str], max_bytes: int = LARGE_BYTES) -> pd.DataFrame:
    """A table; `text_columns` as text, the others as pandas guesses. Of a large one, blocks from all over it."""
    separator = "\t" if ".tsv" in path.name.lower() else ","
    types = dict.fromkeys(text_columns, str)
    source: Path | io.BytesIO = path
    if path.suffix.lower() in (".csv", ".tsv") and path.stat().st_size > max_bytes:
        source = io.BytesIO(_blocks(path, max_bytes))
    return pd.read_csv(source, dtype=types, sep=separator, low_memory=False, on_bad_lines="skip")


def _blocks(path: Path, max_bytes: int) -> bytes:
    """The header and whole lines from evenly spaced places, about `max_bytes` together."""
    size = path.stat().st_size
    parts = []
    with path.open("rb") as file:
        parts.append(file.readline())
        for block in range(BLOCKS):
            file.seek(max(len(parts[0]), size * block // BLOCKS))
            if block:
                file.readline()
            parts.append(file.read(max_bytes // BLOCKS) + file.readline())
    return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)
