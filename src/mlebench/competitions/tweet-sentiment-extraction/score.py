"""Word-level Jaccard, with gaps as empty texts and numbers as texts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.cells import as_text
from mlebench.errors import InvalidSubmission
from mlebench.metrics.text import word_jaccard
from mlebench.submission import row_problem


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean word-level Jaccard score, rows paired by `textID`.

    Raises InvalidSubmission if in some row neither prediction nor answer has a word: 0 / 0.
    """
    answer = answers.set_index("textID")["selected_text"].loc[submission["textID"]]
    values = word_jaccard(as_text(answer).tolist(), as_text(submission["selected_text"]).tolist())
    undefined = np.isnan(values)
    if undefined.any():
        message = "selected_text has no words, and so has the answer: the score is undefined"
        raise InvalidSubmission([row_problem("undefined score", message, undefined, submission["textID"], "some word")])
    return float(values.mean())
