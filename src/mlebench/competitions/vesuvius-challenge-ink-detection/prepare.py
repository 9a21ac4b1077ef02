"""Train on fragments 1 and 2, test on fragment 3, which becomes test/a without its labels and photograph."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from PIL import Image

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, link_folder, read_csv, walk, write_csv

WITHHELD = {"inklabels.png", "inklabels_rle.csv", "ir.png"}
SUFFIXES = {".png", ".csv", ".tif"}


def prepare(raw: Path, public: Path, private: Path) -> None:
    fragment = raw / "train" / "3"
    shown = _shown_files(fragment)
    width, height = _size(fragment / "ir.png")
    truth = read_csv(fragment / "inklabels_rle.csv", dtype=str)[["Id", "Predicted"]]
    if len(truth) != 1:
        raise PreparationError(f"train/3/inklabels_rle.csv has {len(truth)} rows instead of one")
    truth["Id"] = "a"

    write_csv(pd.DataFrame({"Id": ["a"], "Predicted": ["1 1 5 1"]}), public / "sample_submission.csv")
    write_csv(truth.assign(width=width, height=height), private / "inklabels_rle.csv")
    write_csv(truth, private / "gold_submission.csv")
    for name in ("1", "2"):
        link_folder(raw / "train" / name, public / "train" / name, f"placing fragment {name}")
    link_files(((fragment / path, public / "test" / "a" / path) for path in shown), "placing the test fragment")


def _shown_files(fragment: Path) -> list[Path]:
    """The files of the test fragment that give nothing away, relative to it."""
    if not fragment.is_dir():
        raise PreparationError(f"the folder 3 is missing in {fragment.parent}")
    files = [path.relative_to(fragment) for path in walk(fragment)]
    strange = [path.as_posix() for path in files if path.suffix not in SUFFIXES]
    if strange:
        raise PreparationError(f"train/3 holds files of unknown kinds: {', '.join(strange[:3])}")
    withheld = sorted(path.as_posix() for path in files if path.name in WITHHELD)
    if withheld != sorted(WITHHELD):
        raise PreparationError(f"train/3 must hold each of {', '.join(sorted(WITHHELD))} once; it has {withheld}")
    return [path for path in files if path.name not in WITHHELD]


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, which is not read as a whole."""
    try:
        with Image.open(path) as picture:
            return picture.size
    except OSError as error:
        raise PreparationError(f"{path} can't be read: {error}") from error
