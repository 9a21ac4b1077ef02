"""Hold out as many random training records as there are validation records."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.preparation.files import link_files, link_folder, random_order, write_csv

BANDS = [f"band_{band:02d}.npy" for band in range(8, 17)]
PIXEL_MASK = "human_pixel_masks.npy"
LABELS = ["human_individual_masks.npy", PIXEL_MASK]
EMPTY = "-"


def prepare(raw: Path, public: Path, private: Path) -> None:
    records = _read_records(raw / "train_metadata.json")
    validation = _read_records(raw / "validation_metadata.json")
    order, count = random_order(len(records), len(validation))
    train, test = ([records[place] for place in part] for part in (order[count:], order[:count]))
    answers = pd.DataFrame([_answer(raw / "train" / record["record_id"]) for record in test])
    choices = random.Random(0)
    sample = answers.assign(encoded_pixels=[choices.choice(["1 3 10 5", EMPTY]) for _ in test])

    (public / "train_metadata.json").write_text(json.dumps(train), encoding="utf-8")
    link_files([(raw / "validation_metadata.json", public / "validation_metadata.json")])
    write_csv(sample, public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
    _link_records(train, raw / "train", public / "train", [*BANDS, *LABELS])
    _link_records(test, raw / "train", public / "test", BANDS)
    (public / "validation").mkdir()
    if (raw / "validation").is_dir():
        link_folder(raw / "validation", public / "validation", "placing validation records")


def _read_records(path: Path) -> list[dict[str, Any]]:
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PreparationError(f"{path.name} can't be read: {error}") from error
    if not isinstance(records, list) or not all(isinstance(each, dict) and "record_id" in each for each in records):
        raise PreparationError(f"{path.name} is no list of records with a record_id")
    return records


def _answer(folder: Path) -> dict[str, object]:
    """The mask of one record as a run-length code, and its size."""
    try:
        mask = np.load(folder / PIXEL_MASK)
        height, width = np.load(folder / BANDS[0], mmap_mode="r").shape[:2]
    except (OSError, ValueError) as error:
        raise PreparationError(f"the record {folder.name} can't be read: {error}") from error
    code = encode_run_lengths((mask == 1).reshape(1, *mask.shape[:2]))[0]
    return {"record_id": folder.name, "encoded_pixels": code or EMPTY, "height": height, "width": width}


def _link_records(records: Iterable[dict[str, Any]], source: Path, target: Path, files: Sequence[str]) -> None:
    names = [Path(record["record_id"], file) for record in records for file in files]
    link_files(((source / name, target / name) for name in names), f"placing {target.name} records")
