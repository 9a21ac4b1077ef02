"""Hold out a random tenth of the essays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.files import hold_out, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    essays = read_csv(raw / "train.csv", dtype={"essay_id": str})
    require_unique(essays["essay_id"])
    train, test = hold_out(essays, 0.1)
    random_marks = np.random.RandomState(42).randint(1, 7, size=len(test))

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="score"), public / "test.csv")
    write_csv(test[["essay_id"]].assign(score=random_marks), public / "sample_submission.csv")
    write_csv(test, private / "answers.csv")
