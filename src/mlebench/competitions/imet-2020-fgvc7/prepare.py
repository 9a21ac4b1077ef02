"""Hold out a random 15 % of the labelled pictures."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, link_file, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    pictures = read_csv(raw / "train.csv", dtype={"id": str, "attribute_ids": str})
    require_unique(pictures["id"])
    train, test = hold_out(pictures, 0.15)

    write_csv(train, public / "train.csv")
    write_csv(test.assign(attribute_ids="0 1 2"), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
    link_file(raw / "labels.csv", public / "labels.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        names = part["id"] + ".png"
        link_files(((raw / "train" / name, folder / name) for name in names), f"placing {folder.name}")
