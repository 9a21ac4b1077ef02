"""Hold out a random tenth of the pairs of phrases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import hold_out, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = _divide(read_csv(raw / "train.csv", dtype={"id": str}))
    _write(train, test, 0, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but phrases such as `null` are kept, and the sample submission is not constant."""
    train, test = _divide(read_csv(raw / "train.csv", dtype={"id": str}, keep_default_na=False))
    _write(train, test, np.linspace(0, 1, len(test)), public, private)


def _divide(pairs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    require_unique(pairs["id"])
    return hold_out(pairs, 0.1)


def _write(train: pd.DataFrame, test: pd.DataFrame, guess: int | np.ndarray, public: Path, private: Path) -> None:
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="score"), public / "test.csv")
    write_csv(test[["id"]].assign(score=guess), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
