"""Hold out all steps of a random tenth of the breaths, and number the steps of both parts anew from 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import random_order, read_csv, write_csv, write_rows

TYPES = {
    "id": np.int32,
    "breath_id": np.int32,
    "R": np.int8,
    "C": np.int8,
    "time_step": np.float64,
    "u_in": np.float64,
    "u_out": np.int8,
    "pressure": np.float64,
}
DIGITS = "%.10g"


def prepare(raw: Path, public: Path, private: Path) -> None:
    steps = read_csv(raw / "train.csv", dtype=TYPES)
    train, test = _divide(steps["breath_id"])
    for rows in (train, test):
        steps.loc[rows, "id"] = np.arange(1, len(rows) + 1, dtype=np.int32)
    held_out = steps.take(test)

    write_rows(steps, train, public / "train.csv", float_format=DIGITS)
    write_csv(held_out.drop(columns="pressure"), public / "test.csv", float_format=DIGITS)
    write_csv(held_out[["id"]].assign(pressure=0), public / "sample_submission.csv")
    write_csv(held_out, private / "test.csv", float_format=DIGITS)


def _divide(breath_ids: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The row numbers of training and test, breath by breath in shuffled order; steps of a breath keep theirs."""
    breath, breaths = pd.factorize(breath_ids, sort=True)
    order, count = random_order(len(breaths), 0.1)
    place = np.empty(len(breaths), dtype=np.int64)
    place[order] = np.arange(len(breaths))
    rows = np.argsort(place[breath], kind="stable")
    test_rows = int(np.count_nonzero(place[breath] < count))
    return rows[test_rows:], rows[:test_rows]
