"""The public files: which there are, and which belong to an id."""

from __future__ import annotations

import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".dcm", ".dicom"}
SOUNDS = {".wav", ".aif", ".aiff"}
NOTES = {".xyz", ".txt", ".json"}  # small texts, one for each id
ARRAYS = {".npy", ".csv"}  # measurements, a file for each id
TABLE = re.compile(r"\.(csv|tsv)(\.gz|\.zip|\.bz2|\.xz)?$", re.IGNORECASE)
NOT_INPUT = re.compile(r"mask|label|annotation|segment|cleaned|ground|target", re.IGNORECASE)
HEAD_ROWS = 300
MOST_TABLES = 20  # in a folder; where there are more, each belongs to a row
LARGE_BYTES = 160 << 20
BLOCKS = 64


class Files:
    """All files below `roots`, found once."""

    def __init__(self, *roots: Path) -> None:
        self.roots = roots
        self.paths: list[Path] = []
        for root in roots:
            for folder, folders, names in os.walk(root):
                folders.sort()
                self.paths += [Path(folder, name) for name in sorted(names)]

    def relative(self, path: Path) -> Path:
        """A path as seen from its root."""
        return next(path.relative_to(root) for root in self.roots if path.is_relative_to(root))

    @cached_property
    def tables(self) -> dict[Path, pd.DataFrame]:
        """The first rows of every table at most two folders deep, all cells as text."""
        found = {}
        beside = Counter(path.parent for path in self.paths if TABLE.search(path.name))
        for path in self.paths:
            few = beside[path.parent] <= MOST_TABLES and len(self.relative(path).parts) <= 3
            if TABLE.search(path.name) and few and len(found) < 60:
                try:
                    found[path] = read_text_table(path, rows=HEAD_ROWS)
                except (ValueError, OSError):
                    continue
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Path]]:
        """Files of images, sounds, notes and arrays by stem and by name, and the folders that hold them by name."""
        names: dict[str, list[Path]] = defaultdict(list)
        folders: set[Path] = set()
        for path in self.paths:
            if path.suffix.lower() in IMAGES | SOUNDS | NOTES | ARRAYS:
                names[path.stem].append(path)
                names[path.name].append(path)
                folders.update(folder for folder in path.parents if folder not in self.roots)
        for folder in folders:
            if any(folder.is_relative_to(root) for root in self.roots):
                names[folder.name].append(folder)
        return names

    def of_ids(self, ids: Sequence[str], kinds: Iterable[str], role: str) -> list[Path | None]:
        """For each id the file of one of these suffixes, or the folder that holds such; None where there is none.

        `role` ("train" or "test") decides between files of one name; masks and the like are left out.
        """
        kinds = set(kinds)
        found: list[Path | None] = []
        for name in map(str, ids):
            named = self._by_name.get(name) or self._by_name.get(name.rsplit("/", 1)[-1]) or ()
            options = [path for path in named if path.suffix.lower() in kinds]
            options = options or [path for path in named if path in self._folders and self.within(path, kinds)]
            options = options or self._by_beginning(name, kinds) or self._without_end(name, kinds)
            options = [path for path in options if not NOT_INPUT.search(str(self.relative(path).parent))]
            best = min(options, key=lambda path: self._preference(path, name, role), default=None)
            if best is not None and best in self._folders:
                held = self.within(best, kinds)
                best = held[0] if len(held) == 1 else best
            found.append(best)
        return found

    def _by_beginning(self, name: str, kinds: Collection[str]) -> list[Path]:
        """The files whose folder and beginning of the name are the parts of an id: `a_1_b_7` is `a_1/b_7_x.png`."""
        parts = name.split("_")
        for count in range(len(parts) - 1, 0, -1):
            folder, beginning = "_".join(parts[:count]), "_".join(parts[count:])
            held = [p for f in self._by_name.get(folder, ()) if f in self._folders for p in self.within(f, kinds)]
            found = [path for path in held if re.match(rf"{re.escape(beginning)}(?![^\W_])", path.stem)]
            if found:
                return found
        return []

    def _without_end(self, name: str, kinds: Collection[str]) -> list[Path]:
        """The files and folders that are named as an id without the word behind its last underscore."""
        named = self._by_name.get(name.rsplit("_", 1)[0], ()) if re.search(r"_[a-z]+$", name) else ()
        return [path for path in named if path.suffix.lower() in kinds or self.within(path, kinds)]

    def _preference(self, path: Path, name: str, role: str) -> tuple[bool, bool, bool, int]:
        """Smaller is better: of the right side, with the folders that the name has, not deep."""
        other = "test" if role == "train" else "train"
        folders = "/".join(self.relative(path).parts[:-1]).lower()
        return (other in folders, not path.as_posix().endswith(name), role not in folders, len(path.parts))

    @cached_property
    def _folders(self) -> dict[Path, list[Path]]:
        """The files of each folder, those in its folders too."""
        held: dict[Path, list[Path]] = defaultdict(list)
        for path in self.paths:
            for folder in path.parents:
                if folder in self.roots:
                    break
                held[folder].append(path)
        return held

    def within(self, folder: Path, kinds: Iterable[str]) -> list[Path]:
        """The files of these suffixes in a folder and its folders, masks and the like left out."""
        kinds = set(kinds)
        held = [path for path in self._folders.get(folder, ()) if path.suffix.lower() in kinds]
        return [path for path in held if not NOT_INPUT.search(path.name)]


def share_found(paths: Sequence[Path | None]) -> float:
    """The share of paths that are there."""
    return sum(path is not None for path in paths) / max(1, len(paths))


def read_text_table(path: Path, rows: int | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    """A table with all cells as text, empty ones as empty text; all rows and columns or some."""
    separator = "\t" if ".tsv" in path.name.lower() else ","
    return pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows, usecols=columns, sep=separator)


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
