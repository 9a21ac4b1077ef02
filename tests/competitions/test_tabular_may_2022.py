"""What is peculiar to the states of a machine: ids that are replaced, whatever they were."""

import numpy as np
import pytest

from mlebench import catalog
from mlebench.tables import read_csv

ID = "tabular-playground-series-may-2022"


@pytest.mark.parametrize("change", [lambda ids: ids + 0.5, lambda ids: "x" + ids.astype(str), lambda ids: ids * 0])
def test_all_rows_are_numbered_anew_the_training_rows_first(tmp_path, change):
    for folder in ("public", "private"):
        (tmp_path / folder).mkdir()
    catalog.get(ID).make_raw(tmp_path, np.random.default_rng(0), 90)
    rows = read_csv(tmp_path / "train.csv")
    rows.assign(id=change(rows["id"])).to_csv(tmp_path / "train.csv", index=False)
    catalog.get(ID).prepare(tmp_path, tmp_path / "public", tmp_path / "private")
    order = np.random.RandomState(0).permutation(90)
    train, test = read_csv(tmp_path / "public" / "train.csv"), read_csv(tmp_path / "private" / "test.csv")
    assert [*train["id"], *test["id"]] == list(range(90))
    assert np.array_equal(train["f_00"], rows["f_00"].to_numpy()[order[10:]])
    assert np.array_equal(test["f_00"], rows["f_00"].to_numpy()[order[:10]])
