"""Tones: each class has its own pitch, a clip the pitches of its one to three classes; noisy labels are often wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.catalog import get
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, wav_bytes, write_zip

RATE = 44_100
SECONDS = 0.1


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    classes = [column.name for column in get("freesound-audio-tagging-2019").schema.columns]
    counts = {"train_curated": size // 2, "train_noisy": size - size // 2, "test": max(20, size // 3)}
    names = iter(hex_ids(rng, sum(counts.values()), 8))
    clips = {folder: _clips(rng, [next(names) for _ in range(count)], classes) for folder, count in counts.items()}

    for folder, table in clips.items():
        for name, labels in zip(table["fname"], table["labels"], strict=True):
            _write_clip(rng, raw / folder / name, [classes.index(label) for label in labels.split(",")])
    noisy = clips["train_noisy"]
    wrong = rng.random(len(noisy)) < 0.3
    clips["train_noisy"] = noisy.assign(labels=noisy["labels"].mask(wrong, rng.choice(classes, len(noisy))))
    for folder in ("train_curated", "train_noisy"):
        write_csv(clips[folder], raw / f"{folder}.csv")
    _write_test_tables(rng, raw, clips["test"], classes)


def _clips(rng: np.random.Generator, names: list[str], classes: list[str]) -> pd.DataFrame:
    """Names and labels; each class comes about equally often."""
    first = rng.permutation(len(names)) % len(classes)
    more = rng.integers(0, len(classes), (len(names), 2))
    count = rng.choice(3, len(names), p=[0.82, 0.14, 0.04])
    labels = [
        ",".join(classes[place] for place in dict.fromkeys([one, *others[:extra]]))
        for one, others, extra in zip(first, more, count, strict=True)
    ]
    return pd.DataFrame({"fname": [f"{name}.wav" for name in names], "labels": labels})


def _write_clip(rng: np.random.Generator, path: Path, places: list[int]) -> None:
    time = np.arange(int(RATE * SECONDS * rng.uniform(0.7, 1.3))) / RATE
    samples = rng.normal(0, 0.02, len(time))
    for place in places:
        samples += 0.25 * np.sin(2 * np.pi * 150 * 1.05**place * time + rng.uniform(0, 6))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wav_bytes(samples, RATE))


def _write_test_tables(rng: np.random.Generator, raw: Path, clips: pd.DataFrame, classes: list[str]) -> None:
    """The sample submission with the private clips, and the archive with the labels of all."""
    usage = np.where(np.arange(len(clips)) % 4 == 3, "Public", "Private")
    published = clips.assign(usage=usage, freesound_id=rng.integers(1000, 999_999, len(clips)))
    published["license"] = "Creative Commons 0"
    sample = clips.loc[usage == "Private", ["fname"]].sort_values("fname")
    write_csv(sample.assign(**dict.fromkeys(classes, 0)), raw / "sample_submission.csv")
    meta = "FSDKaggle2019.meta"
    test = published.to_csv(index=False, lineterminator="\n")
    trains = {
        f"{meta}/train_{kind}_post_competition.csv": "fname,labels,freesound_id\n" for kind in ("curated", "noisy")
    }
    write_zip(raw / f"{meta}.zip", {f"{meta}/test_post_competition.csv": test, **trains})
