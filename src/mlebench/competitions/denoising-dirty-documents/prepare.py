"""Hold out a random fifth of the dirty pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import hold_out, link_files, unpack, walk


def prepare(raw: Path, public: Path, private: Path) -> None:
    _, test = hold_out(_pictures(raw), 0.2)

    _write(raw, public, private, set(test))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but a fifth of the pages is held out: pictures with the same clean version stay together."""
    pictures = _pictures(raw)
    page = pictures.map(_pages(raw, pictures))
    _, test_pages = hold_out(page.drop_duplicates(), 0.2)

    _write(raw, public, private, set(pictures[page.isin(test_pages)]))


def _pictures(raw: Path) -> pd.Series:
    """The names of all pictures, sorted as texts."""
    folder = unpack(raw, "train.zip") / "train"
    return pd.Series(sorted(path.name for path in folder.glob("*.png")), dtype=object)


def _pages(raw: Path, pictures: Iterable[str]) -> dict[str, str]:
    """For each picture the first one whose clean version is the same, within less than a grey level on average."""
    first: dict[str, np.ndarray] = {}
    page = {}
    for name in pictures:
        pixels = _grey(_cleaned(raw) / "train_cleaned" / name).astype(np.int16)
        same = (other for other, known in first.items() if known.shape == pixels.shape and _distance(known, pixels) < 1)
        page[name] = next(same, name)
        first.setdefault(page[name], pixels)
    return page


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).mean())


def _cleaned(raw: Path) -> Path:
    return unpack(raw, "train_cleaned.zip")


def _write(raw: Path, public: Path, private: Path, test: set[str]) -> None:
    """Place all that the archives hold, but for the clean versions of the pictures `test`: these are the answers.

    Where both archives have a file of one name, that of the clean pictures counts.
    """
    dirty, clean = unpack(raw, "train.zip"), _cleaned(raw)
    is_test = {Path("train", name) for name in test}
    answers = {Path("train_cleaned", name) for name in test}
    files = {Path("test", file.name) if file in is_test else file: dirty / file for file in _files(dirty)}
    files |= {file: clean / file for file in _files(clean) if file not in answers}

    link_files(((path, public / file) for file, path in files.items()), "placing pictures")
    _write_pixels([clean / "train_cleaned" / name for name in sorted(test)], public, private)


def _files(folder: Path) -> list[Path]:
    """All files below `folder`, relative to it."""
    return [path.relative_to(folder) for path in walk(folder)]


def _write_pixels(pictures: list[Path], public: Path, private: Path) -> None:
    """Write the value of each pixel of `pictures` as answers, and all of them white as sample submission."""
    with (
        (private / "answers.csv").open("w", encoding="utf-8") as answers,
        (public / "sampleSubmission.csv").open("w", encoding="utf-8") as sample,
        progress.step("writing pixels", len(pictures), "files") as done,
    ):
        for file in (answers, sample):
            file.write("id,value\n")
        for picture in pictures:
            if not picture.is_file():
                raise PreparationError(f"train_cleaned.zip has no {picture.name}, but train.zip has")
            pixels = _grey(picture)
            ids = _ids(picture.stem, *pixels.shape)
            answers.writelines((ids + _VALUES[pixels]).ravel())
            sample.writelines((ids + "1\n").ravel())
            done()


# How pandas writes the intensity of each of the 256 grey levels.
_VALUES = np.array([f"{level / 255.0!r}\n" for level in range(256)], dtype=object)


def _ids(name: str, rows: int, columns: int) -> np.ndarray:
    """The beginning of each pixel's line, `<name>_<row>_<column>,`, both from 1; shape (rows, columns)."""
    starts = np.array([f"{name}_{row}_" for row in range(1, rows + 1)], dtype=object)
    ends = np.array([f"{column}," for column in range(1, columns + 1)], dtype=object)
    return starts[:, None] + ends


def _grey(picture: Path) -> np.ndarray:
    """The grey levels, uint8, shape (rows, columns)."""
    with Image.open(picture) as opened:
        return np.asarray(opened.convert("L"))
