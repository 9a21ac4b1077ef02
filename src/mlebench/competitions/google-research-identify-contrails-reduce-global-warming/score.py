"""What the schema of a submission can't say: runs end within their own record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    sample = read_csv(public / "sample_submission.csv")
    pixels = (sample["height"] * sample["width"]).set_axis(sample["record_id"])
    codes = table["encoded_pixels"].where(table["encoded_pixels"] != "-", "")
    yield from faulty_masks(codes, pixels[table["record_id"]].to_numpy())
