"""Hold out 9,914 random rides, as many as the original test has; a tenth if there are no more than that."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.big_tables import Kind, hold_out_lines
from mlebench.preparation.files import link_files, read_csv, write_csv

TEST_ROWS = 9914
KINDS: dict[str, Kind] = {
    "key": "text",
    "fare_amount": "float",
    "pickup_datetime": "text",
    "pickup_longitude": "float",
    "pickup_latitude": "float",
    "dropoff_longitude": "float",
    "dropoff_latitude": "float",
    "passenger_count": "integer",
}
COUPONS = "GCP-Coupons-Instructions.rtf"


def prepare(raw: Path, public: Path, private: Path) -> None:
    rides = raw / "train.csv"
    enough = len(read_csv(rides, nrows=TEST_ROWS + 1)) > TEST_ROWS
    test = hold_out_lines(rides, KINDS, TEST_ROWS if enough else 0.1, train_target=public / "labels.csv")

    write_csv(test.drop(columns="fare_amount"), public / "test.csv")
    write_csv(test[["key"]].assign(fare_amount=11.35), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    link_files([(raw / COUPONS, public / COUPONS)])
