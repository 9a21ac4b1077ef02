"""Rows are paired by place in edition v1, and by trip and time in v2."""

import numpy as np
import pandas as pd
import pytest

from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.tables import write_csv

ID = "smartphone-decimeter-2022"


@pytest.fixture(params=["v1", "v2"])
def edition(request):
    return request.param


@pytest.fixture
def score(twins, edition, tmp_path):
    dataset = twins(ID, edition)

    def score(change):
        write_csv(change(pd.read_csv(dataset.private / "test.csv")), tmp_path / "submission.csv")
        return score_submission(tmp_path / "submission.csv", dataset)

    return score


def _refusal(score, change):
    with pytest.raises(InvalidSubmission) as caught:
        score(change)
    return {problem.kind for problem in caught.value.problems}


def _first(table, **cells):
    return table.assign(**{name: table[name].where(table.index > 0, cell) for name, cell in cells.items()})


def _other_phone(table):
    trip = table["tripId"]
    return table.assign(tripId=trip.where(trip.index > 0, trip.iloc[-1]))


def test_rows_in_another_order(score, edition):
    found = score(lambda table: table.sample(frac=1, random_state=0))
    assert found > 5 if edition == "v1" else found == 0


def test_trips_in_another_order(score):
    assert score(lambda table: table.sort_values("tripId", ascending=False, kind="stable")) == 0


def test_a_metre_is_a_metre(score):
    north = np.degrees(1 / 6_371_000)
    assert score(lambda table: table.assign(LatitudeDegrees=table["LatitudeDegrees"] + north)) == 1


def test_median_and_95th_percentile_of_each_trip_are_averaged(score):
    """Every second row of each trip 10 metres off: the percentiles follow from the number of rows."""

    def change(table):
        place = table.groupby("tripId").cumcount()
        off = np.degrees(10 / 6_371_000) * (place % 2)
        return table.assign(LatitudeDegrees=table["LatitudeDegrees"] + off)

    rows = 25
    errors = [10.0] * (rows // 2) + [0.0] * (rows - rows // 2)
    expected = (np.quantile(errors, 0.5) + np.quantile(errors, 0.95)) / 2
    assert score(change) == pytest.approx(expected, abs=1e-5)


def test_wrong_times(score, edition):
    def change(table):
        return table.assign(UnixTimeMillis=0)

    if edition == "v1":
        assert score(change) == 0
    else:
        assert _refusal(score, change) == {"unknown time", "repeated time", "missing time"}


def test_a_repeated_time(score, edition):
    def change(table):
        return _first(table, UnixTimeMillis=table["UnixTimeMillis"].iloc[1])

    if edition == "v1":
        assert score(change) == 0
    else:
        assert _refusal(score, change) == {"repeated time", "missing time"}


def test_impossible_places(score, edition):
    def change(table):
        return table.assign(LatitudeDegrees=91.0)

    if edition == "v1":
        assert score(change) > 0
    else:
        assert _refusal(score, change) == {"out of range"}


def test_a_row_of_another_trip(score, edition):
    wanted = {"row count"} if edition == "v1" else {"unknown time", "missing time"}
    assert _refusal(score, _other_phone) <= wanted | {"repeated time", "missing time"}


def test_a_missing_row(score, edition):
    kind = "row count" if edition == "v1" else "missing time"
    assert _refusal(score, lambda table: table.iloc[1:]) == {kind}


def test_a_missing_coordinate(score):
    assert _refusal(score, lambda table: _first(table, LongitudeDegrees=np.nan)) == {"missing value"}
