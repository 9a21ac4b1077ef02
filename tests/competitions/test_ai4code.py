"""What is peculiar to the shuffled notebooks: the size of the test, and families that stay together."""

import json

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.tables import read_csv


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """Prepares `size` notebooks as if real data had `most` of them in the test; returns ids of train and test."""

    def prepare(size, most):
        competition = catalog.get("AI4Code")
        raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
        raw.mkdir()
        competition.make_raw(raw, np.random.default_rng(0), size)
        monkeypatch.setattr(competition._module("prepare.py"), "TEST_NOTEBOOKS", most)
        competition.prepare(raw, public, private)
        return raw, public, private

    return prepare


def ids(path):
    return set(read_csv(path, dtype=str)["id"])


@pytest.mark.parametrize(("size", "most", "expected"), [(200, 60, 60), (200, 200, 28), (50, 20_000, 7)])
def test_as_many_notebooks_as_fixed_or_a_share_of_small_data(prepared, size, most, expected):
    raw, public, private = prepared(size, most)
    test, train = ids(private / "test_orders.csv"), ids(public / "train_orders.csv")
    assert len(test) == expected
    assert len(train) == size - expected
    assert {path.stem for path in (public / "test").iterdir()} == test
    assert {path.stem for path in (public / "train").iterdir()} == train
    families = read_csv(raw / "train_ancestors.csv", dtype=str).set_index("id")["ancestor_id"]
    assert not set(families[list(test)]) & set(families[list(train)])


def test_one_family_can_not_be_divided(tmp_path):
    (tmp_path / "train_ancestors.csv").write_text("id,ancestor_id,parent_id\n01,aa,\n02,aa,01\n")
    with pytest.raises(PreparationError, match="2 notebooks in 1 families"):
        catalog.get("AI4Code").prepare(tmp_path, tmp_path / "public", tmp_path / "private")


def test_a_damaged_notebook_is_named(tmp_path):
    raw = tmp_path / "raw"
    (raw / "train").mkdir(parents=True)
    table = pd.DataFrame({"id": [f"{i:02d}" for i in range(20)], "ancestor_id": range(20), "parent_id": None})
    table.to_csv(raw / "train_ancestors.csv", index=False)
    table[["id"]].assign(cell_order="a b").to_csv(raw / "train_orders.csv", index=False)
    for notebook in table["id"]:
        (raw / "train" / f"{notebook}.json").write_text(json.dumps({"cells": []}))
    with pytest.raises(PreparationError, match=r"\d\d\.json is no notebook"):
        catalog.get("AI4Code").prepare(raw, tmp_path / "public", tmp_path / "private")
