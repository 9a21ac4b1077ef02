"""Products of a shop: each category has its colour and pattern, some products share a photograph."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes

SIDE = 180
CATEGORIES = 5270
LEVELS = [
    ("TÉLÉPHONIE - GPS", "ACCESSOIRE TÉLÉPHONE", "COQUE, ÉTUI"),
    ("BIJOUX -  LUNETTES - MONTRES", "MONTRE", "BRACELET DE MONTRE"),
    ("JEUX VIDEO", 'JEU "RETRO"', "CARTOUCHE"),
    ("MUSIQUE", "CD", "CD VARIÉTÉ FRANÇAISE"),
    ("ÉPICERIE", "THÉ", "THÉ VERT"),
]
SAMPLE_CATEGORY = 1000010653
SHARED = 0.03  # share of products with the photograph of the one before
DOCUMENT, ARRAY, BINARY, INT32 = 0x03, 0x04, 0x05, 0x10  # kinds of BSON elements


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    raw.mkdir(parents=True, exist_ok=True)
    count = int(np.clip(size // 20, 3, CATEGORIES))
    categories = np.append(SAMPLE_CATEGORY, 1000011000 + 3 * rng.choice(10_000, count - 1, replace=False))
    names = pd.DataFrame(LEVELS, columns=["category_level1", "category_level2", "category_level3"])
    names = names.iloc[np.arange(count) % len(LEVELS)].reset_index(drop=True)
    names.insert(0, "category_id", np.sort(categories))
    unlabelled = size // 4 + 1
    ids = np.sort(rng.choice(4 * (size + unlabelled), size + unlabelled, replace=False))
    in_train = np.isin(ids, rng.choice(ids, size, replace=False))

    write_csv(names, raw / "category_names.csv")
    documents = list(_documents(rng, ids[in_train], names["category_id"].to_numpy(), labelled=True))
    (raw / "train.bson").write_bytes(b"".join(documents))
    (raw / "train_example.bson").write_bytes(b"".join(documents[:100]))
    test = _documents(rng, ids[~in_train], names["category_id"].to_numpy(), labelled=False)
    (raw / "test.bson").write_bytes(b"".join(test))
    sample = pd.DataFrame({"_id": ids[~in_train], "category_id": SAMPLE_CATEGORY})
    write_csv(sample, raw / "sample_submission.csv")


def _documents(rng: np.random.Generator, ids: np.ndarray, categories: np.ndarray, *, labelled: bool) -> Iterator[bytes]:
    """A document for each product; early categories are the more frequent ones."""
    chosen = (len(categories) * rng.random(len(ids)) ** 2).astype(int)
    picture = b""
    for product, place in zip(ids.tolist(), chosen.tolist(), strict=True):
        pictures = [
            jpeg_bytes(_photograph(rng, place)) for _ in range(rng.choice([1, 2, 3, 4], p=[0.6, 0.2, 0.1, 0.1]))
        ]
        if picture and rng.random() < SHARED:
            pictures[0] = picture
        picture = pictures[0]
        yield _product(product, pictures, int(categories[place]) if labelled else None)


def _product(number: int, pictures: list[bytes], category: int | None) -> bytes:
    images = [
        _element(
            DOCUMENT, str(place), _document([_element(BINARY, "picture", struct.pack("<ib", len(each), 0) + each)])
        )
        for place, each in enumerate(pictures)
    ]
    elements = [_element(INT32, "_id", struct.pack("<i", number)), _element(ARRAY, "imgs", _document(images))]
    if category is not None:
        elements.append(_element(INT32, "category_id", struct.pack("<i", category)))
    return _document(elements)


def _document(elements: Iterable[bytes]) -> bytes:
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


def _element(kind: int, name: str, value: bytes) -> bytes:
    return bytes([kind]) + name.encode() + b"\0" + value


def _photograph(rng: np.random.Generator, place: int) -> np.ndarray:
    """RGB pixels: stripes on white, their colour and width those of the category at `place`."""
    colour = 40 + 180 * np.abs(np.sin(place * np.array([1.0, 1.7, 2.3]) + 1))
    pixels = np.full((SIDE, SIDE, 3), 250.0)
    top, left = rng.integers(10, 40, 2)
    stripes = (np.arange(SIDE) + rng.integers(0, SIDE)) // (8 + 4 * (place % 4)) % 2 == 0
    pixels[top:-top, left:-left] = np.where(stripes[left:-left, None], colour, colour / 2) + rng.integers(-10, 11)
    return np.clip(pixels, 0, 255).astype(np.uint8)
