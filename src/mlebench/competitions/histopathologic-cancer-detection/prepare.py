"""Hold out a random share of the labelled patches, as large as that of the original test set among all patches."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    labels = read_csv(raw / "train_labels.csv", dtype={"id": str})
    require_unique(labels["id"])
    tested = sum(1 for _ in (raw / "test").glob("*.tif"))
    _, test_ids = hold_out(labels["id"], tested / (len(labels) + tested))
    # Both tables keep the order of the raw one.
    is_test = labels["id"].isin(test_ids)
    train, test = labels[~is_test], labels[is_test]

    write_csv(train, public / "train_labels.csv")
    write_csv(test.assign(label=0), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        names = part["id"] + ".tif"
        link_files(((raw / "train" / name, folder / name) for name in names), f"placing {folder.name}")
