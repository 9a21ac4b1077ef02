"""Hold out a random tenth of the patches."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(read_csv(raw / "train.csv"), 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="Cover_Type"), public / "test.csv")
    write_csv(test[["Id"]].assign(Cover_Type=2), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
