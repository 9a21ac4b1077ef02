"""Rows of a large table are written part by part, with the bytes of the whole."""

import numpy as np
import pandas as pd
import pytest

from mlebench.preparation import files
from mlebench.preparation.files import write_csv, write_rows

TABLE = pd.DataFrame(
    {"id": range(9), "text": ["a", "b,c", None, '"', "", "ä", "1", "x\ny", "NA"], "x": [0.1, None] * 4 + [1e-9]}
)


@pytest.mark.parametrize("part", [1, 2, 9, 100])
@pytest.mark.parametrize("rows", [[8, 0, 3, 3, 1, 7], [4], [], list(range(9))], ids=len)
@pytest.mark.parametrize("options", [{}, {"float_format": "%.3g"}], ids=str)
def test_bytes_are_those_of_the_whole(part, rows, options, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS_OF_A_PART", part)
    write_rows(TABLE, np.array(rows, dtype=int), tmp_path / "new" / "parts.csv", **options)
    write_csv(TABLE.iloc[rows], tmp_path / "whole.csv", **options)
    assert (tmp_path / "new" / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
