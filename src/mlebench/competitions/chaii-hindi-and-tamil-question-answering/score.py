"""Word-level Jaccard; what two texts without any word score depends on the edition."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cells import as_text
from mlebench.metrics.text import word_jaccard


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean word-level Jaccard score, rows paired by `id`; 0 where neither prediction nor answer has a word."""
    return _mean(submission, answers, both_empty=0.0)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same, but two texts without a word agree: 1."""
    return _mean(submission, answers, both_empty=1.0)


def _mean(submission: pd.DataFrame, answers: pd.DataFrame, both_empty: float) -> float:
    answer = answers.set_index("id")["PredictionString"].loc[submission["id"]]
    values = word_jaccard(as_text(answer).tolist(), as_text(submission["PredictionString"]).tolist())
    return float(np.where(np.isnan(values), both_empty, values).mean())
