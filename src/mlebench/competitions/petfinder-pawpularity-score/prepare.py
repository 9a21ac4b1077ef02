"""Hold out a random tenth of the photographs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv
from mlebench.preparation.lookalikes import lookalikes


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_photographs(raw), 0.1)

    _write(raw, public, private, train, test)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but photographs that look the same stay together."""
    photographs = _photographs(raw)
    same = pd.Series(lookalikes([raw / "train" / f"{name}.jpg" for name in photographs["Id"]]))
    _, held_out = hold_out(same.drop_duplicates(), 0.1)
    is_test = same.isin(held_out).to_numpy()

    _write(raw, public, private, photographs[~is_test], photographs[is_test])


def _photographs(raw: Path) -> pd.DataFrame:
    photographs = read_csv(raw / "train.csv", dtype={"Id": str})
    require_unique(photographs["Id"])
    return photographs


def _write(raw: Path, public: Path, private: Path, train: pd.DataFrame, test: pd.DataFrame) -> None:
    guesses = np.random.default_rng(0).uniform(1, 100, len(test)).round(2)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="Pawpularity"), public / "test.csv")
    write_csv(test[["Id"]].assign(Pawpularity=guesses), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, photographs in (("train", train), ("test", test)):
        names = [f"{name}.jpg" for name in photographs["Id"]]
        link_files(((raw / "train" / name, public / part / name) for name in names), f"placing {part} photographs")
