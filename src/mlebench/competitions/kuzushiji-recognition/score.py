"""F1 over all characters of all pages; a character is found if a point of its code lies in its box."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mlebench.cell_formats.labelled_boxes import numbered, read_groups
from mlebench.cells import as_text
from mlebench.metrics.detection import point_f1_score
from mlebench.submission import Problem, row_problem

MOST = 1200  # characters on a page


def check_submission(table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """Warns of more characters than the original contest allowed."""
    counts = (as_text(table["labels"]).str.count(" ") + 1) // 3
    many = (counts > MOST).to_numpy(dtype=bool)
    if many.any():
        message = f"labels has more than {MOST:,} characters"
        yield row_problem("many characters", message, many, counts, only_warns=True)


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    predicted = submission.set_index("image_id")["labels"].loc[answers["image_id"]]
    boxes = read_groups(as_text(answers["labels"]).to_list(), 5, 0, any_blanks=True)
    points = read_groups(as_text(predicted).to_list(), 3, 0)
    codes = pd.Index(sorted(set(boxes.words)), dtype=object)
    return point_f1_score(numbered(boxes, codes), numbered(points, codes))
