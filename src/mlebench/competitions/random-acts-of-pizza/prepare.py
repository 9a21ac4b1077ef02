"""Hold out as large a random share of the labelled requests as the original test had of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import random_order, require_unique, write_csv, zip_files

Record = dict[str, Any]
TARGET = "requester_received_pizza"
GIVER = "giver_username_if_known"  # somebody is named only if a pizza was given


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, left_out=())


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same without the field that names the giver."""
    _prepare(raw, public, private, left_out=(GIVER,))


def _prepare(raw: Path, public: Path, private: Path, left_out: tuple[str, ...]) -> None:
    labelled, original_test = _read_records(raw / "train.json"), _read_records(raw / "test.json")
    share = len(original_test) / (len(labelled) + len(original_test))
    order, test_count = random_order(len(labelled), share)
    train, test = [labelled[row] for row in order[test_count:]], [labelled[row] for row in order[:test_count]]
    answers = _answers(test)

    known_at_test = [{key: record[key] for key in original_test[0]} for record in test]
    for name, records in (("train", train), ("test", known_at_test)):
        _write_records(records, left_out, public / f"{name}.json")
        zip_files([(public / f"{name}.json", f"{name}.json")], public / f"{name}.zip")
    write_csv(answers.assign(**{TARGET: 0}), public / "sampleSubmission.csv")
    write_csv(answers, private / "test.csv")


def _read_records(path: Path) -> list[Record]:
    """A list of objects that all have the same keys. Raises PreparationError if it is anything else."""
    records = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(records, list) or not records or not all(isinstance(record, dict) for record in records):
        raise PreparationError(f"{path.name} is no list of records")
    differ = [number for number, record in enumerate(records) if record.keys() != records[0].keys()]
    if differ:
        raise PreparationError(f"{path.name}: record {differ[0]} has other keys than record 0")
    return records


def _answers(test: list[Record]) -> pd.DataFrame:
    answers = pd.DataFrame({key: [record[key] for record in test] for key in ("request_id", TARGET)})
    require_unique(answers["request_id"])
    return answers.astype({TARGET: np.int64})


def _write_records(records: list[Record], left_out: tuple[str, ...], path: Path) -> None:
    kept = [{key: value for key, value in record.items() if key not in left_out} for record in records]
    path.write_text(json.dumps(kept, indent=4), encoding="utf-8")
