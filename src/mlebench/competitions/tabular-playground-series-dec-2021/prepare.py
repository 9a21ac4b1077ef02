"""Hold out a random tenth of the patches."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.big_tables import Kind, hold_out_lines
from mlebench.preparation.files import read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    kinds: dict[str, Kind] = dict.fromkeys(read_csv(raw / "train.csv", nrows=0).columns, "integer")
    test = hold_out_lines(raw / "train.csv", kinds, 0.1, train_target=public / "train.csv")

    write_csv(test.drop(columns="Cover_Type"), public / "test.csv")
    write_csv(test[["Id"]].assign(Cover_Type=2), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
