"""Hold out a random tenth of the photographs; in edition v2 a tenth of the different ones, with all their copies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, link_files, read_csv, require_unique, write_csv
from mlebench.preparation.pictures import picture_hashes


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_photographs(raw), 0.1)
    _place(train, test, raw, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but photographs that are equal pixel by pixel stay together."""
    photographs = _photographs(raw)
    pictures = picture_hashes([raw / "train_images" / f"{name}.png" for name in photographs["id_code"]])
    train, test = hold_out_groups(photographs.assign(picture=pictures), "picture", 0.1)
    _place(train.drop(columns="picture"), test.drop(columns="picture"), raw, public, private)


def _photographs(raw: Path) -> pd.DataFrame:
    # Ids are hexadecimal and stay texts, even if all of them happen to look like numbers.
    photographs = read_csv(raw / "train.csv", dtype={"id_code": str})
    require_unique(photographs["id_code"])
    return photographs


def _place(train: pd.DataFrame, test: pd.DataFrame, raw: Path, public: Path, private: Path) -> None:
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="diagnosis"), public / "test.csv")
    write_csv(test.assign(diagnosis=0), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, folder in ((train, public / "train_images"), (test, public / "test_images")):
        names = part["id_code"] + ".png"
        link_files(((raw / "train_images" / name, folder / name) for name in names), f"placing {folder.name}")
