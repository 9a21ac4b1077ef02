"""Hold out a random fifth of the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    pictures = read_csv(raw / "train_labels.csv", dtype={"image_id": str})
    require_unique(pictures["image_id"])
    train, test = hold_out(pictures, 0.2)

    write_csv(train, public / "train_labels.csv")
    write_csv(test.assign(InChI="InChI=1S/H2O/h1H2"), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    link_files(_placed(train["image_id"], raw / "train", public / "train"), "placing train")
    link_files(_placed(test["image_id"], raw / "train", public / "test"), "placing test")
    link_files([(raw / "extra_approved_InChIs.csv", public / "extra_approved_InChIs.csv")])


def _placed(ids: pd.Series, source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """Where the picture of each id lies, below folders named by its first three digits, and where it belongs."""
    for name in ids:
        place = f"{name[0]}/{name[1]}/{name[2]}/{name}.png"
        yield source / place, target / place
