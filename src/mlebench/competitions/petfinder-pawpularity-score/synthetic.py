"""Blobs with a face before a plain ground: bright, warm ones are popular; some photographs occur twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes

LABELS = {  # and how frequent they are
    "Subject Focus": 0.03,
    "Eyes": 0.77,
    "Face": 0.9,
    "Near": 0.86,
    "Action": 0.01,
    "Accessory": 0.07,
    "Group": 0.13,
    "Collage": 0.05,
    "Human": 0.17,
    "Occlusion": 0.17,
    "Info": 0.06,
    "Blur": 0.07,
}
SIDE = 48


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    hidden = max(2, size // 20)
    ids = np.sort(hex_ids(rng, size, 32))
    others = hex_ids(rng, hidden, 32)
    train, test = _labels(rng, ids), _labels(rng, others)
    appeal = rng.random(size)
    photographs = [_photograph(rng, *facts) for facts in zip(appeal, train["Near"], train["Blur"], strict=True)]
    noise = rng.normal(0, 8, size)
    train["Pawpularity"] = np.clip(np.round(10 + 55 * appeal**2 + 3 * train["Eyes"] + noise), 1, 100).astype(int)
    for copy, original in rng.permutation(size)[: 2 * (size // 20)].reshape(-1, 2):
        photographs[copy] = _scaled(photographs[original])

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["Id"]].assign(Pawpularity=rng.uniform(1, 100, hidden).round(2)), raw / "sample_submission.csv")
    _write_photographs(raw / "train", ids, photographs)
    _write_photographs(raw / "test", others, [_photograph(rng, rng.random(), 1, 0) for _ in others])


def _labels(rng: np.random.Generator, ids: np.ndarray | list[str]) -> pd.DataFrame:
    table = pd.DataFrame({"Id": ids, **{name: rng.random(len(ids)) < share for name, share in LABELS.items()}})
    table["Eyes"] &= ~table["Blur"]
    return table.astype(dict.fromkeys(LABELS, int))


def _photograph(rng: np.random.Generator, appeal: float, near: int, blur: int) -> np.ndarray:
    """uint8, (48, 48, 3); an appealing one is warm and bright."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    ground = rng.integers(30, 120, 3) + rng.normal(0, 0.6, 3) * (rows - 24)[..., None]
    row, column = rng.integers(17, 31, 2)
    radius = (14 if near else 8) + rng.integers(0, 4)
    body = np.hypot(rows - row, columns - column) < radius
    fur = 60 + 170 * appeal * np.array([1.0, 0.85, 0.6]) + rng.normal(0, 12, 3)
    picture = np.where(body[..., None], fur, ground)
    for side in (-1, 1):
        eye = np.hypot(rows - row + 3, columns - column - side * radius // 3) < (2 if near else 1)
        picture[eye] = 10
    picture += rng.normal(0, 12 if blur else 4, picture.shape)
    return np.clip(picture, 0, 255).astype(np.uint8)


def _scaled(picture: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).resize((SIDE * 3 // 2, SIDE * 3 // 2), Image.Resampling.BICUBIC))


def _write_photographs(folder: Path, ids: np.ndarray | list[str], photographs: list[np.ndarray]) -> None:
    folder.mkdir(parents=True)
    for name, picture in zip(ids, photographs, strict=True):
        (folder / f"{name}.jpg").write_bytes(jpeg_bytes(picture))
