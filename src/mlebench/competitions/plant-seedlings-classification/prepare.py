"""Hold out a random 14 % of the pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_pictures(raw / "train"), 0.14)
    require_unique(test["file"])  # a name may occur for two species in the training part alone
    _require_disjoint(train["file"], test["file"])

    write_csv(test, private / "answers.csv")
    write_csv(test.assign(species="Sugar beet"), public / "sample_submission.csv")
    link_files(
        ((raw / "train" / species / name, public / "train" / species / name) for name, species in _rows(train)),
        "placing train",
    )
    link_files(
        ((raw / "train" / species / name, public / "test" / name) for name, species in _rows(test)), "placing test"
    )


def _rows(pictures: pd.DataFrame) -> Iterable[tuple[str, str]]:
    return zip(pictures["file"], pictures["species"], strict=True)


def _pictures(folder: Path) -> pd.DataFrame:
    """The pictures in the folders of the species, both in the order of their names."""
    if not folder.is_dir():
        raise PreparationError(f"the folder {folder.name} is missing in {folder.parent}")
    species = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [(file, each.name) for each in species for file in sorted(path.name for path in each.glob("*.png"))]
    return pd.DataFrame(found, columns=["file", "species"])


def _require_disjoint(train: pd.Series, test: pd.Series) -> None:
    both = test[test.isin(train)]
    if len(both):
        shown = ", ".join(both[:3])
        raise PreparationError(f"{len(both):,} names of pictures occur for two species, on both sides: {shown}")
