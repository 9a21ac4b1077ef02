"""Hold out a random fifth of the labelled pictures."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    pictures = read_csv(raw / "train.csv")
    require_unique(pictures["image"])
    train, test = hold_out(pictures, 0.2)

    write_csv(train, public / "train.csv")
    write_csv(test.assign(labels="healthy"), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
    for part, folder in ((train, public / "train_images"), (test, public / "test_images")):
        link_files(((raw / "train_images" / name, folder / name) for name in part["image"]), f"placing {folder.name}")
