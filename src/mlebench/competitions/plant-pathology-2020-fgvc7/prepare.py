"""Hold out a random tenth of the photographs; both parts are numbered anew in shuffled order."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv

CONDITIONS = ["healthy", "multiple_diseases", "rust", "scab"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    leaves = read_csv(raw / "train.csv", dtype={"image_id": str})
    _require_training_ids(leaves["image_id"])
    old_train, old_test = hold_out(leaves, 0.1)
    train, test = _numbered(old_train, "Train"), _numbered(old_test, "Test")

    write_csv(train, public / "train.csv")
    write_csv(test[["image_id"]], public / "test.csv")
    probabilities = dict.fromkeys(CONDITIONS, 0.25)
    write_csv(test[["image_id"]].assign(**probabilities), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for old, new in ((old_train, train), (old_test, test)):
        names = zip(old["image_id"], new["image_id"], strict=True)
        link_files((raw / "images" / f"{a}.jpg", public / "images" / f"{b}.jpg") for a, b in names)


def _require_training_ids(ids: pd.Series) -> None:
    require_unique(ids)
    strange = ids[~ids.str.startswith("Train_", na=False)]
    if len(strange):
        raise PreparationError(f"train.csv: {len(strange)} ids do not begin with Train_: {list(strange[:3])}")


def _numbered(leaves: pd.DataFrame, prefix: str) -> pd.DataFrame:
    return leaves.assign(image_id=[f"{prefix}_{number}" for number in range(len(leaves))])
