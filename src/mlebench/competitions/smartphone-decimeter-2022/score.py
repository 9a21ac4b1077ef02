"""How far the positions of each trip are from the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.cells import as_numbers
from mlebench.metrics.geodesic import haversine_distance
from mlebench.submission import Problem, row_problem
from mlebench.tables import read_csv

TRIP, TIME = "tripId", "UnixTimeMillis"
PLACE = ["LatitudeDegrees", "LongitudeDegrees"]


def check_submission(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each trip has as many rows as in the sample submission."""
    wanted = _sample(public)[TRIP].value_counts(sort=False)
    found = table[TRIP].value_counts(sort=False).reindex(wanted.index, fill_value=0)
    wrong = found[found != wanted]
    if len(wrong):
        trip, count = wrong.index[0], int(wrong.iloc[0])
        yield Problem(
            "row count",
            f"{len(wrong):,} trips have another number of rows than in the sample submission; {trip} has {count:,}",
            f"{wanted[trip]:,} rows",
            count=len(wrong),
        )


def check_submission_v2(table: pd.DataFrame, public: Path) -> Iterator[Problem]:
    """Each trip and time of the sample submission occurs exactly once."""
    known, found = _keys(_sample(public)), _keys(table)
    expected = "the times of the sample submission, each once in its trip"
    unknown = ~found.isin(known)
    if unknown.any():
        yield row_problem("unknown time", f"{TIME} is not asked for in this trip", unknown, table[TIME], expected)
    repeated = found.duplicated()
    if repeated.any():
        yield row_problem("repeated time", f"{TIME} stands there already", repeated, table[TIME], expected)
    missing = known[~known.isin(found)]
    if len(missing):
        trip, time = missing[0]
        message = f"{len(missing):,} of {len(known):,} times are missing, such as {time} of {trip}"
        yield Problem("missing time", message, expected, count=len(missing))


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Mean over the trips of the average of median and 95th percentile; rows are paired by place within the trip."""
    predicted, truth = (table.sort_values(TRIP, kind="stable") for table in (submission, answers))
    return _mean_of_trips(truth, predicted)


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """The same; rows are paired by trip and time."""
    predicted, truth = (table.iloc[_keys(table).argsort()] for table in (submission, answers))
    return _mean_of_trips(truth, predicted)


def _mean_of_trips(truth: pd.DataFrame, predicted: pd.DataFrame) -> float:
    """The rows of both belong together; positions in degrees."""
    distance = pd.Series(haversine_distance(truth[PLACE], predicted[PLACE]), index=truth[TRIP].to_numpy())
    return float(distance.groupby(level=0).quantile(np.array([0.5, 0.95])).mean())


def _keys(table: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([table[TRIP], as_numbers(table[TIME]).astype("int64")])


def _sample(public: Path) -> pd.DataFrame:
    return read_csv(public / "sample_submission.csv", usecols=[TRIP, TIME], dtype={TRIP: str})
