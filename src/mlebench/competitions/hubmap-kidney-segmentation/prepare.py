"""Hold out three of the fifteen labelled pictures at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv

SIZE = ["width_pixels", "height_pixels"]
PICTURE, GLOMERULI, ANATOMY = "{}.tiff", "{}.json", "{}-anatomical-structure.json"


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, test_files=(PICTURE, GLOMERULI, ANATOMY))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same without the outlines of the test pictures' glomeruli, which are the answers."""
    _prepare(raw, public, private, test_files=(PICTURE, ANATOMY))


def _prepare(raw: Path, public: Path, private: Path, test_files: Sequence[str]) -> None:
    masks = read_csv(raw / "train.csv", dtype=str)[["id", "encoding"]]
    require_unique(masks["id"])
    facts = read_csv(raw / "HuBMAP-20-dataset_information.csv")
    train, test = hold_out(masks, 0.2)  # 3 of 15
    sample = test[["id"]].assign(predicted="")

    write_csv(train, public / "train.csv")
    write_csv(facts[_ids(facts).isin(masks["id"])], public / "HuBMAP-20-dataset_information.csv")
    write_csv(sample, public / "sample_submission.csv")
    write_csv(sample, public / "test" / "sample_submission.csv")
    write_csv(_with_size(test, facts), private / "test.csv")
    write_csv(test.rename(columns={"encoding": "predicted"}), private / "gold_submission.csv")
    _link(train["id"], raw / "train", public / "train", (PICTURE, GLOMERULI, ANATOMY))
    _link(test["id"], raw / "train", public / "test", test_files)


def _ids(facts: pd.DataFrame) -> pd.Series:
    return facts["image_file"].str.removesuffix(".tiff")


def _with_size(masks: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    sizes = facts.set_index(_ids(facts))[SIZE]
    lacking = masks.loc[~masks["id"].isin(sizes.index), "id"]
    if len(lacking):
        raise PreparationError(f"HuBMAP-20-dataset_information.csv lacks the pictures {', '.join(lacking)}")
    return masks.join(sizes, on="id")


def _link(ids: Iterable[str], source: Path, target: Path, files: Sequence[str]) -> None:
    names = [file.format(name) for name in ids for file in files]
    link_files(((source / name, target / name) for name in names), "placing pictures")
