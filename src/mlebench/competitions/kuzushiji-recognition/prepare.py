"""Hold out a random tenth of the pages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.cell_formats.labelled_boxes import read_groups
from mlebench.cells import as_text
from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, repack, require_unique, write_csv

ARCHIVE = "train_images.zip"


def prepare(raw: Path, public: Path, private: Path) -> None:
    pages = read_csv(raw / "train.csv", dtype=str)[["image_id", "labels"]]
    require_unique(pages["image_id"])
    train, test = hold_out(pages, 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.assign(labels="U+003F 1 1 U+FF2F 2 2"), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    write_csv(test.assign(labels=_points(test["labels"])), private / "gold_submission.csv")
    link_files([(raw / "unicode_translation.csv", public / "unicode_translation.csv")])
    for part, name in ((train, "train_images.zip"), (test, "test_images.zip")):
        repack(raw / ARCHIVE, part["image_id"] + ".jpg", public / name)


def _points(labels: pd.Series) -> pd.Series:
    """A submission that hits every box: the code and the pixel inside its upper left corner."""
    try:
        groups = read_groups(as_text(labels).to_list(), 5, 0, any_blanks=True)
    except ValueError as error:
        raise PreparationError(f"train.csv: the labels of a page are no quintuples: {error}") from error
    corners = groups.numbers[:, :2].astype(int) + 1
    texts = pd.Series([f"{code} {x} {y}" for code, (x, y) in zip(groups.words, corners, strict=True)], dtype=object)
    pages = texts.groupby(groups.texts).agg(" ".join)
    return pages.reindex(range(len(labels)), fill_value="").set_axis(labels.index)
