"""Hold out 20,000 notebooks, whole families of forks together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, read_csv, write_csv

TEST_NOTEBOOKS = 20_000
SHARE_IF_FEWER = 0.14  # of the notebooks, where there are not more than TEST_NOTEBOOKS


def prepare(raw: Path, public: Path, private: Path) -> None:
    ancestors = read_csv(raw / "train_ancestors.csv", dtype=str).sample(frac=1, random_state=0)
    is_test = _whole_families(ancestors["ancestor_id"])
    test_ids = ancestors["id"][is_test]
    _link_notebooks(raw / "train", public, ancestors["id"], is_test)

    orders = read_csv(raw / "train_orders.csv", dtype=str)
    test_orders = orders[orders["id"].isin(test_ids)]
    if len(test_orders) != len(test_ids):
        raise PreparationError(f"train_orders.csv has {len(test_orders):,} rows for {len(test_ids):,} test notebooks")
    in_train = orders["id"].isin(ancestors["id"][~is_test])
    given = [_given_order(raw / "train" / f"{notebook}.json") for notebook in test_orders["id"]]

    write_csv(orders[in_train], public / "train_orders.csv")
    write_csv(ancestors[~is_test], public / "train_ancestors.csv")
    write_csv(test_orders.assign(cell_order=given), public / "sample_submission.csv")
    write_csv(test_orders, private / "test_orders.csv")


def _whole_families(ancestors: pd.Series) -> np.ndarray:
    """Which rows are test, shape (rows,): families in the order of their first row, each that still fits."""
    rows = len(ancestors)
    limit = TEST_NOTEBOOKS if rows > TEST_NOTEBOOKS else round(SHARE_IF_FEWER * rows)
    family, names = pd.factorize(ancestors)
    if (family < 0).any():
        raise PreparationError("train_ancestors.csv has rows without ancestor_id")
    is_test = np.zeros(len(names), dtype=bool)
    count = 0
    for number, size in enumerate(np.bincount(family, minlength=len(names)).tolist()):
        if count + size <= limit:
            is_test[number] = True
            count += size
    if not 0 < count < rows:
        raise PreparationError(f"{rows} notebooks in {len(names)} families can't be divided into training and test")
    return is_test[family]


def _link_notebooks(folder: Path, public: Path, ids: pd.Series, is_test: np.ndarray) -> None:
    sides = np.where(is_test, "test", "train")
    names = [f"{notebook}.json" for notebook in ids]
    link_files(
        ((folder / name, public / side / name) for name, side in zip(names, sides, strict=True)), "placing notebooks"
    )


def _given_order(notebook: Path) -> str:
    """The ids of the cells in the order in which the file lists them."""
    try:
        return " ".join(json.loads(notebook.read_bytes())["cell_type"])
    except (ValueError, KeyError, TypeError) as error:
        raise PreparationError(f"{notebook} is no notebook: {error!r}") from error
