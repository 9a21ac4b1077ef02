"""Hold out a random tenth of the molecules."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, read_csv, require_unique, write_csv

LABELS = ["EC1", "EC2", "EC3", "EC4", "EC5", "EC6"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    molecules = read_csv(raw / "train.csv")
    require_unique(molecules["id"])
    train, test = hold_out(molecules, 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns=LABELS), public / "test.csv")
    write_csv(test[["id"]].assign(EC1=0.5, EC2=0.5), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
