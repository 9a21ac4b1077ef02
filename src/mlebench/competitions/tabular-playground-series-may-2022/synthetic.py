"""Observations of a machine whose state depends on products of features and on the letters of a code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

COUNTS = range(7, 19)  # f_07 … f_18 are small counts
LETTERS = 20  # A … T


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    observations = _observations(rng, size + max(1, size // 2))
    train, test = observations.iloc[:size], observations.iloc[size:].drop(columns="target")

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["id"]].assign(target=0.5), raw / "sample_submission.csv")


def _observations(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    normal = rng.normal(0, 1, (rows, 31))
    counts = rng.poisson(2, (rows, 31))
    codes = np.minimum(rng.geometric(0.2, (rows, 10)) - 1, LETTERS - 1)
    table = pd.DataFrame({"id": np.arange(rows)})
    for number in range(31):
        table[f"f_{number:02d}"] = counts[:, number] if number in COUNTS else normal[:, number]
    table["f_27"] = ["".join(row) for row in np.array([chr(65 + code) for code in range(LETTERS)])[codes]]
    table["f_28"] = 240 * normal[:, 28]
    table["f_29"] = (normal[:, 29] > 0.4).astype(np.int64)
    table["f_30"] = rng.integers(0, 3, rows)
    different = 1 + (np.diff(np.sort(codes, axis=1), axis=1) > 0).sum(axis=1)
    score = np.sign(normal[:, 2] + normal[:, 21]) + normal[:, 26] * (table["f_30"] - 1) + normal[:, 19]
    score += 0.3 * (counts[:, 7] - counts[:, 10]) + 0.4 * (different - 5.5)
    table["target"] = (score + rng.logistic(0, 0.4, rows) > 0).astype(np.int64)
    return table
