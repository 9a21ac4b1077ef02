"""Hold out a random 19 per cent of the pictures, the share that the original contest tested on."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, read_csv, require_unique, unpack, write_csv, zip_files


def prepare(raw: Path, public: Path, private: Path) -> None:
    pictures = read_csv(raw / "train.csv", dtype={"id": str})
    require_unique(pictures["id"])
    train, test = hold_out(pictures, 0.19)
    folder = unpack(raw, "train.zip") / "train"

    write_csv(train, public / "train.csv")
    write_csv(test.assign(has_cactus=0.5), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    zip_files(((folder / name, name) for name in train["id"]), public / "train.zip")
    zip_files(((folder / name, name) for name in test["id"]), public / "test.zip")
