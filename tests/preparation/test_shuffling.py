"""Rows in another order, in parts, beside the same in memory."""

import numpy as np
import pandas as pd
import pytest

from mlebench.preparation.shuffling import in_order

TABLE = pd.DataFrame({"number": range(1000), "text": [f'a\r\n{n},"' if n % 7 else None for n in range(1000)]})


@pytest.mark.parametrize("rows", [1000, 997, 1])
@pytest.mark.parametrize("at_once", [1, 10, 333, 5000])
@pytest.mark.parametrize("part", [1, 64, 1000])
def test_rows_come_in_order(rows, at_once, part, tmp_path):
    order = np.random.default_rng(0).permutation(1000)[:rows]
    parts = (TABLE.iloc[start : start + part] for start in range(0, 1000, part))
    if at_once == 1 and rows > 1:
        order = order[:50]  # a file for each row
    found = list(in_order(parts, order, tmp_path, at_once))
    assert max(map(len, found)) <= at_once
    expected = TABLE.iloc[order].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.concat(found).reset_index(drop=True), expected)
    assert list(tmp_path.iterdir()) == []
