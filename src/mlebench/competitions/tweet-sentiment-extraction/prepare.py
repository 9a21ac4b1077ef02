"""Hold out a random tenth of the texts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(read_csv(raw / "train.csv"), public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but a text such as `null` or `NA` stays what it is."""
    _prepare(read_csv(raw / "train.csv", dtype=str, keep_default_na=False), public, private)


def _prepare(texts: pd.DataFrame, public: Path, private: Path) -> None:
    train, test = hold_out(texts, 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="selected_text"), public / "test.csv")
    write_csv(test[["textID"]].assign(selected_text=""), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
