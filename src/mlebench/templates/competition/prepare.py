"""Hold out a random tenth of the readings."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, read_csv, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    """Fill `public` (what agents see) and `private` (what only the grader sees); change nothing in `raw`."""
    train, test = hold_out(read_csv(raw / "readings.csv"), 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="flood"), public / "test.csv")
    write_csv(test[["id"]].assign(flood=0), public / "sample_submission.csv")
    write_csv(test[["id", "flood"]], private / "answers.csv")
    # Pictures and the like: link_files(...) or link_folder(...), an archive in raw: unpack(raw, "photos.zip").
