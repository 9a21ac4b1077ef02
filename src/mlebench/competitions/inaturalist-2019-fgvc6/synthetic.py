"""Plants and animals of unequal frequency: each category has its colour, and some photographers their favourites."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.herbarium import Record, long_tailed_species
from mlebench.preparation.synthetic import discs, hex_ids, jpeg_bytes

GROUPS = ["Plants", "Insects", "Birds", "Reptiles", "Amphibians", "Fungi"]
PEOPLE = ["", "jane doe", "José “Pepe” Núñez", "林文", "O'Brien, Tim"]
CATEGORIES = 1010
HEIGHT, WIDTH = 24, 32


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    raw.mkdir(parents=True, exist_ok=True)
    validation, unlabelled = size // 10 + 1, size // 8 + 1
    kinds = long_tailed_species(rng, size, CATEGORIES)
    categories = np.concatenate([kinds, rng.choice(kinds, validation + unlabelled)])
    images = _images(rng, categories)
    for image in images[size + validation :]:
        image["file_name"] = f"test2019/{Path(image['file_name']).name}"
    parts = {"train": (0, size), "val": (size, size + validation), "test": (size + validation, len(images))}

    for name, (start, end) in parts.items():
        metadata = _metadata(images[start:end], categories[start:end], labelled=name != "test")
        (raw / f"{name}2019.json").write_text(json.dumps(metadata), encoding="utf-8")
    contents = {image["file_name"]: _picture(rng, each) for image, each in zip(images, categories, strict=True)}
    for archive in ("train_val2019", "test2019"):
        members = {name: content for name, content in contents.items() if name.startswith(f"{archive}/")}
        (raw / f"{archive}.tar.gz").write_bytes(_tar_gz(members))
    ids = [image["id"] for image in images[size + validation :]]
    sample = pd.DataFrame({"id": ids, "predicted": rng.integers(0, CATEGORIES, len(ids))})
    write_csv(sample, raw / "kaggle_sample_submission.csv")


def _images(rng: np.random.Generator, categories: np.ndarray) -> list[Record]:
    names = hex_ids(rng, len(categories), 32)
    favourite = np.where(rng.random(len(categories)) < 0.2, categories, rng.integers(0, 1000, len(categories)))
    return [
        {
            "id": number,
            "width": WIDTH,
            "height": HEIGHT,
            "file_name": f"train_val2019/{GROUPS[category % len(GROUPS)]}/{category}/{name}.jpg",
            "license": int(rng.integers(1, 7)),
            "rights_holder": PEOPLE[person % len(PEOPLE)],
        }
        for number, (category, name, person) in enumerate(zip(categories.tolist(), names, favourite, strict=True))
    ]


def _metadata(images: list[Record], categories: np.ndarray, *, labelled: bool) -> Record:
    info = {"year": 2019, "version": "1.0", "description": "a synthetic twin", "contributor": "nobody", "url": ""}
    metadata: Record = {
        "info": {**info, "date_created": "2019-03-08 00:00:00"},
        "licenses": [
            {"id": each, "name": f"licence {each}", "url": f"http://example.org/{each}"} for each in range(1, 7)
        ],
        "images": images,
    }
    if labelled:
        metadata["annotations"] = [
            {"id": image["id"], "image_id": image["id"], "category_id": category}
            for image, category in zip(images, categories.tolist(), strict=True)
        ]
        metadata["categories"] = [_category(number) for number in range(CATEGORIES)]
    return metadata


def _category(number: int) -> Record:
    ranks = dict.fromkeys(["phylum", "class", "order", "family", "genus"], "")
    return {"id": number, "name": str(number), "kingdom": GROUPS[number % len(GROUPS)], **ranks}


def _picture(rng: np.random.Generator, category: int) -> bytes:
    return jpeg_bytes(discs(rng, [int(category)], HEIGHT, WIDTH))


def _tar_gz(members: dict[str, bytes]) -> bytes:
    """A gzipped tar archive whose bytes do not depend on the clock."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)
