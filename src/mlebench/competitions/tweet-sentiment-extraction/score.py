"""Word-level Jaccard, with gaps as empty texts and numbers as texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cells import as_text
from mlebench.errors import InvalidSubmission
from mlebench.metrics.text import word_jaccard
from mlebench.submission import row_problem
from mlebench.tables import read_csv


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean word-level Jaccard score, rows paired by `textID`.

    Raises InvalidSubmission if in some row neither prediction nor answer has a word: 0 / 0.
    """
    values = _row_values(submission, answers)
    undefined = np.isnan(values)
    if undefined.any():
        message = "selected_text has no words, and so has the answer: the score is undefined"
        raise InvalidSubmission([row_problem("undefined score", message, undefined, submission["textID"], "some word")])
    return float(values.mean())


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same, but a row in which neither prediction nor answer has a word counts 1."""
    return float(np.nan_to_num(_row_values(submission, answers), nan=1.0).mean())


def read_answers_v2(path: Path) -> pd.DataFrame:
    """All texts as they stand: `NA` is a text."""
    return read_csv(path, dtype=str, keep_default_na=False)


def _row_values(submission: pd.DataFrame, answers: pd.DataFrame) -> np.ndarray:
    """Jaccard score of each row of the submission; NaN where there is no word on either side."""
    answer = answers.set_index("textID")["selected_text"].loc[submission["textID"]]
    return word_jaccard(as_text(answer).tolist(), as_text(submission["selected_text"]).tolist())
