"""F0.5 of the ink pixels. Edition v1 cuts off runs past the last pixel, v2 refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from PIL import Image

from mlebench.cell_formats.run_lengths import faulty_masks
from mlebench.metrics.segmentation import mean_f_beta_score
from mlebench.submission import Problem


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Runs ascend and don't overlap within the picture; what lies behind it is not looked at."""
    yield from faulty_masks(table["Predicted"], _pixels(public), cut_off=True)


def check_submission_v2(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """All runs lie within the picture."""
    yield from faulty_masks(table["Predicted"], _pixels(public))


def _pixels(public: Path) -> int:
    with Image.open(public / "test" / "a" / "mask.png") as mask:
        return mask.width * mask.height


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    return mean_f_beta_score(
        answers["Predicted"].to_numpy(),
        submission.set_index("Id")["Predicted"].loc[answers["Id"]].to_numpy(),
        beta=0.5,
        pixels=(answers["width"] * answers["height"]).to_numpy(),
        cut_off=True,
    )
