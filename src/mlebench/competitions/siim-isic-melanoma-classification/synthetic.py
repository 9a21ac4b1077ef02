"""Skin with one lesion: malignant ones are larger, ragged and of several colours.

All pictures of a patient have the same skin. The TFRecords hold labels, as the real ones do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes, jpeg_bytes
from mlebench.preparation.tfrecords import Features, write_examples

SIDE = 24  # pixels; the real ones have 1000 and more
RECORD_FILES = 16
MALIGNANT_SHARE = 0.2  # more than the real 0.02, so that a small test has some
PICTURES_A_PATIENT = 6
GAPS = 0.03  # share of facts that are missing
SITES = ["head/neck", "lower extremity", "oral/genital", "palms/soles", "torso", "upper extremity"]
BENIGN = ["unknown", "nevus", "seborrheic keratosis", "lentigo NOS"]
SEXES = ["female", "male"]
FACTS = ["image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    pictures = _pictures(rng, size + max(2, size // 10))
    train, test = pictures.iloc[:size], pictures.iloc[size:]
    write_csv(train, raw / "train.csv")
    write_csv(test[FACTS], raw / "test.csv")
    write_csv(test[["image_name"]].assign(target=0), raw / "sample_submission.csv")

    files = rng.permutation(np.arange(size) % RECORD_FILES)
    examples: list[list[Features]] = [[] for _ in range(RECORD_FILES)]
    for part, table in (("train", train), ("test", test)):
        for row, pixels in zip(range(len(table)), _photographs(rng, table), strict=True):
            picture = table.iloc[row]
            jpeg = jpeg_bytes(pixels)
            _write(raw / "jpeg" / part / f"{picture['image_name']}.jpg", jpeg)
            _write(raw / part / f"{picture['image_name']}.dcm", _dicom(pixels, picture, row))
            if part == "train":
                examples[files[row]].append(_example(picture, jpeg))
    for number, content in enumerate(examples):  # the names are those of the real files, whatever is in them
        write_examples(raw / "tfrecords" / f"train{number:02d}-{2061 if number == 15 else 2071}.tfrec", content)


def _pictures(rng: np.random.Generator, count: int) -> pd.DataFrame:
    patients = rng.choice(10_000_000, max(8, count // PICTURES_A_PATIENT), replace=False)
    patient = rng.integers(0, len(patients), count)
    target = (rng.random(count) < MALIGNANT_SHARE).astype(int)
    target[::7], target[1::7] = 0, 1  # both classes on both sides, however small the twin is
    pictures = pd.DataFrame(
        {
            "image_name": [f"ISIC_{number:07d}" for number in rng.choice(10_000_000, count, replace=False)],
            "patient_id": [f"IP_{patients[each]:07d}" for each in patient],
            "sex": rng.choice(SEXES, len(patients))[patient],
            "age_approx": 5.0 * (rng.integers(3, 16, len(patients))[patient] + 2 * target),
            "anatom_site_general_challenge": rng.choice(SITES, count),
            "diagnosis": np.where(target == 1, "melanoma", rng.choice(BENIGN, count, p=[0.75, 0.2, 0.03, 0.02])),
            "benign_malignant": np.where(target == 1, "malignant", "benign"),
            "target": target,
        }
    )
    for fact in FACTS[2:]:
        gaps = rng.random(count) < GAPS
        gaps[0] = True  # at least one, so that the type of the column is that of the real data
        pictures[fact] = pictures[fact].astype(object).where(~gaps)
    return pictures


def _photographs(rng: np.random.Generator, pictures: pd.DataFrame) -> list[np.ndarray]:
    """RGB pixels, shape (SIDE, SIDE, 3), of each picture."""
    skins: dict[str, np.ndarray] = {}
    return [
        _photograph(rng, skins.setdefault(patient, rng.uniform((200, 150, 120), (240, 200, 180))), malignant == 1)
        for patient, malignant in zip(pictures["patient_id"], pictures["target"], strict=True)
    ]


def _photograph(rng: np.random.Generator, skin: np.ndarray, malignant: bool) -> np.ndarray:
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    pixels = skin + rng.normal(0, 5, (SIDE, SIDE, 3))
    x, y = x - rng.uniform(-0.2, 0.2), y - rng.uniform(-0.2, 0.2)
    angle = np.arctan2(y, x)
    ragged = rng.uniform(0.15, 0.3) * np.sin(rng.integers(3, 7) * angle) if malignant else 0
    radius = rng.uniform(0.35, 0.6) if malignant else rng.uniform(0.2, 0.5)
    lesion = np.hypot(x, y) < radius * (1 + ragged)
    pixels[lesion] = skin * rng.uniform(0.4, 0.7)
    if malignant:
        pixels[lesion & (x > rng.uniform(-0.1, 0.1))] = skin * (0.25, 0.25, 0.4)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def _dicom(pixels: np.ndarray, picture: pd.Series, number: int) -> bytes:
    """A grey picture with facts about the patient: sex and age are empty where they are unknown."""
    sex, age = picture["sex"], picture["age_approx"]
    facts = {
        (0x0008, 0x0060): ("CS", "XC"),
        (0x0010, 0x0020): ("LO", picture["patient_id"]),
        (0x0010, 0x0040): ("CS", "" if pd.isna(sex) else sex[0].upper()),
        (0x0010, 0x1010): ("AS", "" if pd.isna(age) else f"{int(age):03d}Y"),
    }
    return dicom_bytes(pixels.mean(axis=2).astype(np.uint16), f"2.25.{number + 1}", facts)


def _example(picture: pd.Series, jpeg: bytes) -> Features:
    age = picture["age_approx"]
    return {
        "image": [jpeg],
        "image_name": [picture["image_name"].encode()],
        "patient_id": [int(picture["patient_id"][3:])],
        "sex": [_number(picture["sex"], SEXES)],
        "age_approx": [-1 if pd.isna(age) else int(age)],
        "anatom_site_general_challenge": [_number(picture["anatom_site_general_challenge"], SITES)],
        "diagnosis": [_number(picture["diagnosis"], [*BENIGN, "melanoma"])],
        "target": [int(picture["target"])],
        "width": [SIDE],
        "height": [SIDE],
    }


def _number(value: object, values: list[str]) -> int:
    """The place of `value` in `values`, -1 for a gap."""
    return values.index(value) if isinstance(value, str) else -1


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
