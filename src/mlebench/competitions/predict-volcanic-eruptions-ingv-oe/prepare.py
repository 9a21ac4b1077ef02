"""Hold out a random tenth of the segments."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv

COLUMNS = ["segment_id", "time_to_eruption"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_segments(raw), 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test[["segment_id"]].assign(time_to_eruption=0), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, segments in (("train", train), ("test", test)):
        names = [f"{number}.csv" for number in segments["segment_id"]]
        link_files(((raw / "train" / name, public / part / name) for name in names), f"placing {part} segments")


def _segments(raw: Path) -> pd.DataFrame:
    segments = read_csv(raw / "train.csv")
    if list(segments.columns) != COLUMNS:
        raise PreparationError(f"train.csv has the columns {', '.join(segments.columns)}, not {', '.join(COLUMNS)}")
    require_unique(segments["segment_id"])
    return segments
