"""Hold out all events of a random tenth of the batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import hold_out, link_files, require_unique, write_csv

COLUMNS = ["batch_id", "event_id", "first_pulse_index", "last_pulse_index", "azimuth", "zenith"]
TARGETS = ["azimuth", "zenith"]
ROWS_OF_A_PART = 1 << 20


def prepare(raw: Path, public: Path, private: Path) -> None:
    with pq.ParquetFile(raw / "train_meta.parquet", memory_map=True) as events:
        if events.schema_arrow.names != COLUMNS:
            raise PreparationError(f"train_meta.parquet has the columns {', '.join(events.schema_arrow.names)}")
        train, test = hold_out(_batches(events), 0.1)
        answers = _divide(events, test, public)
    require_unique(answers["event_id"])

    write_csv(answers.assign(azimuth=1, zenith=1), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    link_files([(raw / "sensor_geometry.csv", public / "sensor_geometry.csv")])
    _link_pulses(raw, train, public / "train")
    _link_pulses(raw, test, public / "test")


def _batches(events: pq.ParquetFile) -> pd.Series:
    """The numbers of the batches in order of their first appearance."""
    parts = events.iter_batches(ROWS_OF_A_PART, columns=["batch_id"])
    return pd.Series(pd.unique(np.concatenate([pd.unique(part["batch_id"].to_numpy()) for part in parts])))


def _divide(events: pq.ParquetFile, test_batches: pd.Series, public: Path) -> pd.DataFrame:
    """Write the public tables of events, and return events and targets of the test.

    Part by part, since there are 132 million events.
    """
    schema = events.schema_arrow.remove_metadata()
    test_schema = pa.schema([field for field in schema if field.name not in TARGETS])
    answers = []
    with (
        pq.ParquetWriter(public / "train_meta.parquet", schema) as train,
        pq.ParquetWriter(public / "test_meta.parquet", test_schema) as test,
        progress.step("dividing the events", events.metadata.num_rows) as done,
    ):
        for part in events.iter_batches(ROWS_OF_A_PART):
            is_test = np.isin(part["batch_id"].to_numpy(), test_batches)
            held_out = part.filter(pa.array(is_test)).replace_schema_metadata()
            train.write_batch(part.filter(pa.array(~is_test)).replace_schema_metadata())
            test.write_batch(held_out.select(test_schema.names))
            answers.append(held_out.select(["event_id", *TARGETS]))
            done(len(part))
    return pa.Table.from_batches(answers).to_pandas()


def _link_pulses(raw: Path, batches: pd.Series, target: Path) -> None:
    """Place the pulses of `batches`; files of batches that have no events are left out."""
    wanted = set(batches.tolist())
    files = [path for path in (raw / "train").glob("*.parquet") if _batch(path) in wanted]
    if len(files) != len(wanted):
        raise PreparationError(f"{len(files)} files in {raw / 'train'} hold the pulses of {len(wanted)} batches")
    link_files(((path, target / path.name) for path in files), f"placing the batches for {target.name}")


def _batch(path: Path) -> int:
    number = path.stem.rpartition("_")[2]
    if not number.isdigit():
        raise PreparationError(f"the name of {path.name} does not end with the number of a batch")
    return int(number)
