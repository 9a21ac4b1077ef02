"""Hold out 100,000 random observations and number all of them anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.files import random_order, read_csv, write_csv, write_rows

TEST_ROWS = 100_000
SHARE_IF_FEWER = 1 / 9  # of the observations, where there are not more than TEST_ROWS


def prepare(raw: Path, public: Path, private: Path) -> None:
    observations = read_csv(raw / "train.csv")
    enough = len(observations) > TEST_ROWS
    order, test_rows = random_order(len(observations), TEST_ROWS if enough else SHARE_IF_FEWER)
    order = np.roll(order, -test_rows)  # the training rows first
    observations["id"] = np.argsort(order)  # the place of each row in the new order

    write_rows(observations, order[:-test_rows], public / "train.csv")
    test = observations.iloc[order[-test_rows:]]
    write_csv(test.drop(columns="target"), public / "test.csv")
    write_csv(test[["id"]].assign(target=0.5), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    write_csv(test[["id", "target"]], private / "gold_submission.csv")
