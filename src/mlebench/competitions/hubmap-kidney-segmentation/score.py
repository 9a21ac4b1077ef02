"""Mean Dice coefficient. Edition v1 knows no true mask without a pixel, v2 does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.errors import InvalidSubmission
from mlebench.metrics.segmentation import mean_dice_score
from mlebench.submission import Problem
from mlebench.tables import read_csv


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Runs end within their own picture."""
    facts = read_csv(public / "HuBMAP-20-dataset_information.csv")
    pixels = (facts["width_pixels"] * facts["height_pixels"]).set_axis(facts["image_file"].str.removesuffix(".tiff"))
    yield from faulty_masks(table["predicted"], pixels[table["id"]].to_numpy())


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Raises InvalidSubmission if a true mask is empty: the published grader refuses every submission then."""
    if answers["predicted"].isna().any():
        message = "a test picture has no glomeruli, which edition v1 can't score"
        raise InvalidSubmission([Problem("undefined score", message, "edition v2 of the data")])
    predicted = submission.set_index("id")["predicted"].loc[answers["id"]]
    return mean_dice_score(answers["predicted"].to_numpy(), predicted.to_numpy())
