"""Hold out 100,000 random observations and number all of them anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import random_order, read_csv
from mlebench.preparation.parts import append_csv
from mlebench.preparation.shuffling import divided, read_in_order

TEST_ROWS = 100_000
SHARE_IF_FEWER = 1 / 9  # of the observations, where there are not more than TEST_ROWS


def prepare(raw: Path, public: Path, private: Path) -> None:
    source = raw / "train.csv"
    rows = len(read_csv(source, usecols=["id"]))
    order, tested = random_order(rows, TEST_ROWS if rows > TEST_ROWS else SHARE_IF_FEWER)
    order = np.roll(order, -tested)  # the training rows first
    first = 0
    for train_rows, test_rows in divided(read_in_order(source, order, scratch=private), rows - tested):
        train = _numbered(train_rows, first)
        test = _numbered(test_rows, first + len(train))
        first += len(train) + len(test)

        append_csv(train, public / "train.csv")
        append_csv(test.drop(columns="target"), public / "test.csv")
        append_csv(test[["id"]].assign(target=0.5), public / "sample_submission.csv")
        append_csv(test, private / "test.csv")
        append_csv(test[["id", "target"]], private / "gold_submission.csv")


def _numbered(table: pd.DataFrame, first: int) -> pd.DataFrame:
    return table.assign(id=np.arange(first, first + len(table)))
