"""What the schema of a submission can't say: runs end within their own picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    facts = read_csv(public / "HuBMAP-20-dataset_information.csv")
    pixels = (facts["width_pixels"] * facts["height_pixels"]).set_axis(facts["image_file"].str.removesuffix(".tiff"))
    yield from faulty_masks(table["predicted"], pixels[table["id"]].to_numpy())
