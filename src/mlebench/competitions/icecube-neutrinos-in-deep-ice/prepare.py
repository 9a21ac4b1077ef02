"""Hold out all events of a random tenth of the batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import hold_out, link_files, require_unique, write_csv
from mlebench.preparation.parquet import ParquetWriter
from mlebench.preparation.parquet_reading import column_names, read_column

COLUMNS = ["batch_id", "event_id", "first_pulse_index", "last_pulse_index", "azimuth", "zenith"]
TARGETS = ["azimuth", "zenith"]
PACKING = 1  # little, since there are gigabytes


def prepare(raw: Path, public: Path, private: Path) -> None:
    meta = raw / "train_meta.parquet"
    if column_names(meta) != COLUMNS:
        raise PreparationError(f"{meta.name} has the columns {', '.join(column_names(meta))}")
    batches = pd.Series(pd.unique(np.concatenate([pd.unique(page) for page in read_column(meta, "batch_id")])))
    train, test = hold_out(batches, 0.1)
    answers = _divide(meta, test.to_numpy(), public)
    require_unique(answers["event_id"])

    write_csv(answers.assign(azimuth=1, zenith=1), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    link_files([(raw / "sensor_geometry.csv", public / "sensor_geometry.csv")])
    _link_pulses(raw, train, public / "train")
    _link_pulses(raw, test, public / "test")


def _divide(meta: Path, test_batches: np.ndarray, public: Path) -> pd.DataFrame:
    """Write the public tables of events, and return events and targets of the test.

    Column by column and page by page: there are 132 million events.
    """
    is_test = np.concatenate([np.isin(page, test_batches) for page in read_column(meta, "batch_id")])
    answers = {}
    with (
        (public / "train_meta.parquet").open("wb") as train_file,
        (public / "test_meta.parquet").open("wb") as test_file,
        progress.step("dividing the events", len(COLUMNS)) as done,
    ):
        train, test = ParquetWriter(train_file, PACKING), ParquetWriter(test_file, PACKING)
        for name in COLUMNS:
            held_out: list[np.ndarray] = []
            train.write_column(name, _without(is_test, read_column(meta, name), held_out))
            if name not in TARGETS:
                test.write_column(name, held_out)
            if name in ("event_id", *TARGETS):
                answers[name] = np.concatenate(held_out)
            done()
        train.close()
        test.close()
    return pd.DataFrame(answers)


def _without(is_test: np.ndarray, pages: Iterator[np.ndarray], held_out: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The pages without the test rows, which are added to `held_out`."""
    start = 0
    for page in pages:
        of_page = is_test[start : start + len(page)]
        start += len(page)
        held_out.append(page[of_page])
        yield page[~of_page]


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
