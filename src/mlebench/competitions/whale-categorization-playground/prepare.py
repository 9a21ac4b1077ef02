"""Hold out one random photograph of each whale that has two or more, and a random tenth of all the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, random_order, read_csv, require_unique, write_csv

NEW = "new_whale"


def prepare(raw: Path, public: Path, private: Path) -> None:
    photographs = read_csv(raw / "train.csv", dtype={"Image": str})
    require_unique(photographs["Image"])
    hidden = _held_out(photographs["Id"])
    train, test = photographs[~hidden], photographs[hidden]
    answers = test.assign(Id=test["Id"].where(test["Id"].isin(train["Id"]), NEW))
    if not answers["Id"].eq(NEW).any():
        raise PreparationError(f"no photograph of the test shows a {NEW}")

    write_csv(train, public / "train.csv")
    sample = f"{NEW} w_1287fbc w_98baff9 w_7554f44 w_1eafe46"
    write_csv(answers[["Image"]].assign(Id=sample), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        link_files(((raw / "train" / name, folder / name) for name in part["Image"]), f"placing {folder.name}")


def _held_out(whales: pd.Series) -> np.ndarray:
    """Whether each photograph is held out, shape (rows,).

    Of each whale with two or more photographs one goes to training and one to the test; of those with a single one
    a tenth goes to the test; of what is left a tenth, rounded up.
    """
    hidden = np.zeros(len(whales), dtype=bool)
    decided = np.zeros(len(whales), dtype=bool)
    rows_of = whales.reset_index(drop=True).groupby(whales.to_numpy(), sort=False).indices
    single = np.array([rows[0] for rows in rows_of.values() if len(rows) == 1], dtype=int)
    # The published draws: one number for each whale with one photograph, in the order of their appearance.
    hidden[single] = np.random.default_rng(0).random(len(single)) >= 1 - 0.1
    decided[single] = True
    for rows in rows_of.values():
        if len(rows) > 1:
            first, second = np.random.RandomState(0).permutation(len(rows))[:2]
            hidden[rows[second]] = decided[rows[first]] = decided[rows[second]] = True
    others = np.flatnonzero(~decided)
    order, count = random_order(len(others), 0.1)
    hidden[others[order[:count]]] = True
    return hidden
