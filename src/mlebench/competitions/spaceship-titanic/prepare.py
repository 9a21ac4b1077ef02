"""Hold out a random tenth of the passengers."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(read_csv(raw / "train.csv"), 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="Transported"), public / "test.csv")
    write_csv(test[["PassengerId"]].assign(Transported=False), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
