"""Hold out a random tenth of the labelled snippets; the data of the withdrawn contest are passed on whole."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, link_files, link_folder, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    prepare_v2(raw, public, private)
    link_folder(raw / "old_leaky_data", public / "old_leaky_data", "placing old_leaky_data")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same without the data of the withdrawn contest."""
    labels = read_csv(raw / "train_labels.csv", dtype={"id": str})
    require_unique(labels["id"])
    train, test = hold_out(labels, 0.1)

    write_csv(train, public / "train_labels.csv")
    write_csv(test.assign(target=0.5), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        places = part["id"].str[0] + "/" + part["id"] + ".npy"
        link_files(((raw / "train" / place, folder / place) for place in places), f"placing {folder.name}")
