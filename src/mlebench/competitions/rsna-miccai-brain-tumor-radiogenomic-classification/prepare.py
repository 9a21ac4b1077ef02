"""Hold out a random tenth of the subjects."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, walk, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    # Numbers stay texts, since they begin with zeros and name folders.
    labels = read_csv(raw / "train_labels.csv", dtype={"BraTS21ID": str, "MGMT_value": int})
    require_unique(labels["BraTS21ID"])
    train, test = hold_out(labels, 0.1)

    write_csv(train, public / "train_labels.csv")
    write_csv(test.assign(MGMT_value=0.5), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    _link_subjects(train["BraTS21ID"], raw / "train", public / "train")
    _link_subjects(test["BraTS21ID"], raw / "train", public / "test")


def _link_subjects(ids: pd.Series, source: Path, target: Path) -> None:
    """Place all files below the folder of each subject."""
    missing = [name for name in ids if not (source / name).is_dir()]
    if missing:
        raise PreparationError(f"{len(missing)} of {len(ids)} subjects have no folder in train: {missing[:3]}")
    scans = (path for name in ids for path in walk(source / name))
    link_files(((scan, target / scan.relative_to(source)) for scan in scans), f"placing {target.name}")
