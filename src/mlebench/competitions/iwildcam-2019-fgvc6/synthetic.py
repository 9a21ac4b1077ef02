"""Bursts of small pictures from camera sites: a disc for an animal, bare ground where there is none."""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import discs, jpeg_bytes, write_zip

HEIGHT, WIDTH = 24, 32
CLASSES = [0, 1, 3, 4, 8, 10, 11, 13, 14, 16, 17, 18, 19, 22]
HOLDERS = ["Erin Synthe", "Justin Synthe", "Field Station"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    tested = size // 4 + 1
    pictures = _pictures(rng, size + tested)
    dates = pictures["date_captured"].where(np.arange(len(pictures)) % 29 > 0)  # some are missing
    pictures = pictures.assign(date_captured=dates)
    train, test = pictures.iloc[:size], pictures.iloc[size:]

    write_csv(train, raw / "train.csv")
    write_csv(test.drop(columns="category_id"), raw / "test.csv")
    sample = pd.DataFrame({"Id": test["id"], "Predicted": 0})
    write_csv(sample, raw / "sample_submission.csv")
    for part, name in ((train, "train_images.zip"), (test, "test_images.zip")):
        files = zip(part["file_name"], part["category_id"], strict=True)
        members = {file: jpeg_bytes(_picture(rng, int(category))) for file, category in files}
        write_zip(raw / name, members, compress=False)


def _pictures(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    burst = np.cumsum(rng.random(rows) < 0.5)  # frames of one burst mostly show the same
    bursts = int(burst.max()) + 1
    site = np.arange(bursts) % max(20, rows // 1400) + 30
    animal = rng.choice(CLASSES, bursts)
    animal[rng.random(bursts) < 0.4] = 0
    category = np.where(rng.random(rows) < 0.9, animal[burst], 0)
    frame = pd.Series(burst).groupby(burst).cumcount() + 1
    start = pd.Timestamp("2011-03-01") + pd.to_timedelta(rng.integers(0, 900 * 24 * 60, bursts), unit="min")
    ids = _uuids(rng, rows)
    return pd.DataFrame(
        {
            "category_id": category,
            "date_captured": pd.Series(start[burst]).dt.strftime("%Y-%m-%d %H:%M:%S"),
            "file_name": [f"{name}.jpg" for name in ids],
            "frame_num": frame,
            "id": ids,
            "location": site[burst],
            "rights_holder": np.array(HOLDERS)[site[burst] % len(HOLDERS)],
            "seq_id": np.array(_uuids(rng, bursts))[burst],
            "seq_num_frames": frame.groupby(burst).transform("max"),
            "width": WIDTH,
            "height": HEIGHT,
        }
    )


def _uuids(rng: np.random.Generator, count: int) -> list[str]:
    return [str(uuid.UUID(bytes=row.tobytes())) for row in rng.integers(0, 256, (count, 16), dtype=np.uint8)]


def _picture(rng: np.random.Generator, category: int) -> np.ndarray:
    return discs(rng, [category] if category else [], HEIGHT, WIDTH)
