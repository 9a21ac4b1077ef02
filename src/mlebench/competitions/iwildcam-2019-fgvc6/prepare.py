"""Hold out all pictures of a random tenth of the camera sites."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, read_csv, repack, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    answers = _prepare(raw, public, private)

    # The published sample submission has an index: the rows' numbers in the raw table.
    answers.assign(Category=0).to_csv(public / "sample_submission.csv", lineterminator="\n")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    answers = _prepare(raw, public, private)

    write_csv(answers.assign(Category=0), public / "sample_submission.csv")


def _prepare(raw: Path, public: Path, private: Path) -> pd.DataFrame:
    """Write everything but the sample submission; the answers, indexed by the rows of the raw table."""
    pictures = read_csv(raw / "train.csv", dtype={"id": str})
    # The published seed, by which the real sites held out have many pictures.
    _, sites = hold_out(pd.Series(pictures["location"].unique()), 0.1, seed=8)
    hidden = pictures["location"].isin(sites)
    train, test = pictures[~hidden], pictures[hidden]
    answers = test[["id", "category_id"]].set_axis(["Id", "Category"], axis=1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="category_id"), public / "test.csv")
    write_csv(test, private / "test.csv")
    write_csv(answers, private / "answers.csv")
    _require_pictures(raw / "train_images.zip", pictures["id"])
    for part, name in ((train, "train_images.zip"), (test, "test_images.zip")):
        repack(raw / "train_images.zip", part["id"].unique() + ".jpg", public / name)
    return answers


def _require_pictures(archive: Path, ids: pd.Series) -> None:
    """Raise PreparationError unless the archive holds just one picture for each id."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = [name for name in opened.namelist() if name.endswith(".jpg")]
    except zipfile.BadZipFile as error:
        raise PreparationError(f"{archive.name} is no readable zip archive: {error}") from error
    if len(names) != ids.nunique() or set(names) != set(ids + ".jpg"):
        raise PreparationError(f"{archive.name} has {len(names):,} pictures, train.csv {ids.nunique():,} other ids")
