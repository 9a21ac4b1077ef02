"""Camera traps: every location has its background, every species its colour, bursts show one animal."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes

SPECIES = {
    **{0: "empty", 2: "tayassu pecari", 3: "dasyprocta punctata", 10: "madoqua guentheri", 24: "equus quagga"},
    **{71: "leopardus pardalis", 96: "panthera onca", 115: "bos taurus", 233: "loxodonta africana", 372: "motorcycle"},
    **{398: "unknown bird", 675: "canis familiaris"},
}
FRAMES = 4  # pictures of a burst, at most
HEIGHT, WIDTH = 36, 64


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    (raw / "train").mkdir(parents=True)
    (raw / "test").mkdir()
    unlabelled = size // 5 + 1
    pictures = _pictures(rng, size + unlabelled)
    train, test = pictures.iloc[:size], pictures.iloc[size:]
    test = test.assign(location=test["location"] + pictures["location"].max())  # at places of their own
    info = {"year": 2020, "description": 'A synthetic twin, "traps" à la WCS', "contributor": "nobody", "url": ""}

    for side, part in (("train", train), ("test", test)):
        for name, location, category in zip(part["file_name"], part["location"], part["category_id"], strict=True):
            pixels = _photograph(rng, location, list(SPECIES).index(category))
            (raw / side / name).write_bytes(jpeg_bytes(pixels))
    images = [name for name in pictures.columns if name != "category_id"]
    counts = train["category_id"].value_counts()
    annotated = {
        "annotations": _annotations(rng, train),
        "images": train[images].to_dict("records"),
        "categories": [{"count": int(counts.get(each, 0)), "id": each, "name": name} for each, name in SPECIES.items()],
        "info": {**info, "version": "train"},
    }
    unannotated = {
        "images": test[images].to_dict("records"),
        "categories": [{"id": each, "name": name} for each, name in SPECIES.items()],
        "info": {**info, "version": "test"},
    }
    _write_json(annotated, raw / "iwildcam2020_train_annotations.json")
    _write_json(unannotated, raw / "iwildcam2020_test_information.json")
    _write_json(_detections(rng, pictures), raw / "iwildcam2020_megadetector_results.json")
    write_csv(pd.DataFrame({"Id": test["id"], "Category": 0}), raw / "sample_submission.csv")


def _pictures(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Pictures of bursts: each burst at one location shows one species; half of them show none."""
    lengths = rng.integers(1, FRAMES + 1, count)
    burst = np.repeat(np.arange(count), lengths)[:count]
    location = rng.integers(1, max(10, count // 12), count)[burst]
    ranks = np.floor(len(SPECIES) * rng.random(count) ** 2.5).astype(int)
    frame = pd.Series(burst).groupby(burst).cumcount()
    moments = pd.Timestamp("2014-05-01") + pd.to_timedelta(rng.integers(0, 60_000_000, count), unit="s")
    ids, bursts = _uuids(rng, count), _uuids(rng, count)
    return pd.DataFrame(
        {
            "seq_num_frames": lengths[burst],
            "location": location,
            "datetime": (moments[burst] + pd.to_timedelta(frame, unit="s")).dt.strftime("%Y-%m-%d %H:%M:%S.000").array,
            "id": ids,
            "frame_num": frame,
            "seq_id": [bursts[each] for each in burst],
            "width": WIDTH,
            "height": HEIGHT,
            "file_name": [f"{name}.jpg" for name in ids],
            "category_id": np.array(list(SPECIES))[ranks[burst]],
        }
    )


def _uuids(rng: np.random.Generator, count: int) -> list[str]:
    return ["-".join([h[:8], h[8:12], h[12:16], h[16:20], h[20:]]) for h in hex_ids(rng, count, 32)]


def _annotations(rng: np.random.Generator, pictures: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """One for each picture, in another order than the pictures."""
    annotations = pd.DataFrame(
        {
            "count": np.where(pictures["category_id"] == 0, 0, rng.integers(1, 3, len(pictures))),
            "image_id": pictures["id"],
            "id": _uuids(rng, len(pictures)),
            "category_id": pictures["category_id"],
        }
    )
    return annotations.iloc[rng.permutation(len(annotations))].to_dict("records")


def _detections(rng: np.random.Generator, pictures: pd.DataFrame) -> dict[str, object]:
    """What a detector of animals in general found; it overlooks some and imagines others."""
    seen = (pictures["category_id"] > 0).to_numpy() ^ (rng.random(len(pictures)) < 0.1)
    boxes = rng.uniform(0.1, 0.5, (len(pictures), 4)).round(4)
    sure = rng.uniform(0.2, 1, len(pictures)).round(3)
    images = [
        {
            "detections": [{"category": "1", "bbox": box, "conf": confidence}] if found else [],
            "id": name,
            "max_detection_conf": confidence if found else 0.0,
        }
        for name, found, box, confidence in zip(pictures["id"], seen, boxes.tolist(), sure.tolist(), strict=True)
    ]
    categories = {"1": "animal", "2": "person", "3": "group"}
    return {"info": {"detector": "megadetector_v3"}, "detection_categories": categories, "images": images}


def _photograph(rng: np.random.Generator, location: int, kind: int) -> np.ndarray:
    """RGB pixels: the grey-green background of the location, and an animal in the colour of its species."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    light = 90 + 30 * np.sin(x / (5 + location % 7) + location) + 20 * np.cos(y / (3 + location % 5))
    pixels = light[..., None] * np.array([0.8, 1.0, 0.7]) + rng.integers(-10, 11, (HEIGHT, WIDTH, 3))
    if kind:
        row, column = rng.integers(8, HEIGHT - 8), rng.integers(12, WIDTH - 12)
        animal = ((y - row) / 6) ** 2 + ((x - column) / 10) ** 2 < 1
        pixels[animal] = 127 + 120 * np.sin(kind * np.array([1.3, 2.1, 3.4])) + rng.integers(-10, 11)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def _write_json(content: Mapping[str, object], file: Path) -> None:
    file.write_text(json.dumps(content), encoding="ascii")
