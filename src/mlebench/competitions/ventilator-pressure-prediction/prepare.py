"""Hold out all steps of a random tenth of the breaths, and number the steps of both parts anew from 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import random_order_of_groups, read_csv
from mlebench.preparation.parts import append_csv
from mlebench.preparation.shuffling import divided, read_in_order

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
    source = raw / "train.csv"
    breaths = read_csv(source, usecols=["breath_id"], dtype=TYPES)["breath_id"]
    order, tested = random_order_of_groups(breaths, 0.1)
    train_steps, test_steps = 0, 0  # that are written already
    for test_rows, train_rows in divided(read_in_order(source, order, scratch=private, dtype=TYPES), tested):
        train, test = _numbered(train_rows, train_steps + 1), _numbered(test_rows, test_steps + 1)
        train_steps, test_steps = train_steps + len(train), test_steps + len(test)

        append_csv(train, public / "train.csv", float_format=DIGITS)
        append_csv(test.drop(columns="pressure"), public / "test.csv", float_format=DIGITS)
        append_csv(test[["id"]].assign(pressure=0), public / "sample_submission.csv")
        append_csv(test, private / "test.csv", float_format=DIGITS)


def _numbered(steps: pd.DataFrame, first: int) -> pd.DataFrame:
    return steps.assign(id=np.arange(first, first + len(steps)))
