"""Mean average precision at 12 over the customers who bought something; the submission may hold more."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlebench.errors import InvalidSubmission
from mlebench.metrics.ranking import mean_average_precision_at_k_score
from mlebench.submission import Problem


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over the rows of `answers`; InvalidSubmission if one of its customers is missing."""
    place = pd.Index(answers["customer_id"]).get_indexer(pd.Index(submission["customer_id"]))
    scored = np.flatnonzero(place >= 0)
    if len(scored) < len(answers):
        lost = len(answers) - len(scored)
        raise InvalidSubmission(
            [
                Problem(
                    "missing id",
                    f"{lost:,} of the {len(answers):,} customers who are scored are missing",
                    "a row for each customer of the sample submission",
                    count=lost,
                )
            ]
        )
    predictions = np.empty(len(answers), dtype=object)
    predictions[place[scored]] = submission["prediction"].iloc[scored].to_numpy()
    return mean_average_precision_at_k_score(answers["prediction"].to_numpy(), predictions, k=12)
