"""Hold out a random fifth of the recordings (logs) with all their samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv

FIELDS = 8  # of a box: centre, size, yaw, class
BOTH = ("attribute.json", "category.json", "sensor.json", "visibility.json")
FOLDERS = {"jpeg": "images", "bin": "lidar"}
Record = dict[str, Any]


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, map_of={"train": "test", "test": "test"})


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but the map of each part lists its own logs."""
    _prepare(raw, public, private, map_of={"train": "train", "test": "test"})


def _prepare(raw: Path, public: Path, private: Path, map_of: Mapping[str, str]) -> None:
    logs = _read(raw, "log")
    tokens = pd.Series([log["token"] for log in logs], name="token", dtype=object)
    require_unique(tokens)
    part_of_log = {
        token: part for part, chosen in zip(("train", "test"), hold_out(tokens, 0.2), strict=True) for token in chosen
    }
    samples = _read(raw, "sample")
    part_of_sample = {sample["token"]: part_of_log.get(sample["scene_token"]) for sample in samples}
    if None in part_of_sample.values():
        raise PreparationError("train_data/sample.json: a sample belongs to no log")
    sample_data = _read(raw, "sample_data")
    if unknown := {record["sample_token"] for record in sample_data} - set(part_of_sample):
        raise PreparationError(f"train_data/sample_data.json: {len(unknown):,} samples are not in sample.json")
    tables = {
        "log": (logs, "token", part_of_log),
        "sample": (samples, "scene_token", part_of_log),
        "scene": (_read(raw, "scene"), "log_token", part_of_log),
        "sample_data": (sample_data, "sample_token", part_of_sample),
    }
    for name, (records, key, part_of) in tables.items():
        for part in ("train", "test"):
            _write(public, part, name, (record for record in records if part_of.get(record[key]) == part))
    _write_annotations(raw, public, part_of_sample)
    _write_poses(raw, public, sample_data, part_of_sample)
    _write_maps(raw, public, part_of_log, map_of)
    _write_boxes(raw, public, private, part_of_sample)
    _link_sensor_files(raw, public, sample_data, part_of_sample)


def _read(raw: Path, name: str) -> list[Record]:
    path = raw / "train_data" / f"{name}.json"
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise PreparationError(f"{path} can't be read: {error}") from error


def _write(public: Path, part: str, name: str, records: Iterable[Record]) -> None:
    """Write a table as one line of JSON, record by record: some have hundreds of megabytes."""
    path = public / f"{part}_data" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for place, record in enumerate(records):
            file.write((", " if place else "") + json.dumps(record))
        file.write("]")


def _write_annotations(raw: Path, public: Path, part_of_sample: Mapping[str, str | None]) -> None:
    """The boxes of the training samples and the objects they belong to; those of the test are the answers."""
    annotations = [one for one in _read(raw, "sample_annotation") if part_of_sample.get(one["sample_token"]) == "train"]
    _write(public, "train", "sample_annotation", annotations)
    seen = {annotation["instance_token"] for annotation in annotations}
    _write(public, "train", "instance", (one for one in _read(raw, "instance") if one["token"] in seen))


def _write_poses(raw: Path, public: Path, sample_data: list[Record], part_of_sample: Mapping[str, str | None]) -> None:
    """The sensors of each part in the order of their first use; the poses one for each file, so that some repeat."""
    sensors = {record["token"]: record for record in _read(raw, "calibrated_sensor")}
    poses = {record["token"]: record for record in _read(raw, "ego_pose")}
    for part in ("train", "test"):
        own = [record for record in sample_data if part_of_sample[record["sample_token"]] == part]
        try:
            used = [sensors[token] for token in dict.fromkeys(record["calibrated_sensor_token"] for record in own)]
            passed = [poses[record["ego_pose_token"]] for record in own]
        except KeyError as error:
            raise PreparationError(f"train_data: sample_data.json names {error}, which is in no table") from error
        _write(public, part, "calibrated_sensor", used)
        _write(public, part, "ego_pose", passed)


def _write_maps(raw: Path, public: Path, part_of_log: Mapping[str, str], map_of: Mapping[str, str]) -> None:
    """The record of the map, which lists logs; picture and small tables are the same for both parts."""
    records = _read(raw, "map")
    for part in ("train", "test"):
        listed = [token for token, side in part_of_log.items() if side == map_of[part]]
        _write(public, part, "map", [{**record, "log_tokens": listed} for record in records])
        picture = "map_raster_palo_alto.png"
        links = [(raw / "train_maps" / picture, public / f"{part}_maps" / picture)]
        links += [(raw / "train_data" / name, public / f"{part}_data" / name) for name in BOTH]
        link_files(links, "placing tables")


def _write_boxes(raw: Path, public: Path, private: Path, part_of_sample: Mapping[str, str | None]) -> None:
    boxes = read_csv(raw / "train.csv", dtype=str)[["Id", "PredictionString"]]
    parts = boxes["Id"].map(part_of_sample)
    lacking = len(part_of_sample) - boxes.loc[parts.notna(), "Id"].nunique()
    if lacking or boxes["Id"].duplicated().any():
        raise PreparationError(f"train.csv repeats a sample, or {lacking:,} of {len(part_of_sample):,} are missing")
    test = boxes[parts == "test"]

    write_csv(boxes[parts == "train"], public / "train.csv")
    write_csv(test.assign(PredictionString=""), public / "sample_submission.csv")
    answers = [_with_confidence(*row) for row in zip(test["Id"], test["PredictionString"], strict=True)]
    write_csv(test.assign(PredictionString=answers), private / "test.csv")


def _with_confidence(name: str, boxes: object) -> str:
    """The boxes of a sample with the confidence 1.0 in front of each."""
    words = boxes.split(" ") if isinstance(boxes, str) else []
    if not words or len(words) % FIELDS:
        raise PreparationError(f"train.csv: the sample {name} has no boxes of {FIELDS} parts")
    groups = [words[begin : begin + FIELDS] for begin in range(0, len(words), FIELDS)]
    return " ".join(" ".join(["1.0", *group]) for group in groups)


def _link_sensor_files(
    raw: Path, public: Path, sample_data: list[Record], part_of_sample: Mapping[str, str | None]
) -> None:
    targets = {}
    for record in sample_data:
        name, folder = PurePosixPath(record["filename"]).name, FOLDERS.get(record["fileformat"])
        if folder is None:
            raise PreparationError(f"train_data/sample_data.json: the format of {name} is neither jpeg nor bin")
        part = part_of_sample[record["sample_token"]]
        targets[public / f"{part}_{folder}" / name] = raw / f"train_{folder}" / name
    link_files([(source, target) for target, source in targets.items()], "placing pictures and points")
