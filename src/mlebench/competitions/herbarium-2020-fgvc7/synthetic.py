"""Sheets with a coloured disc for a plant; each species has its colour."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mlebench.preparation.herbarium import folder_of, long_tailed_species
from mlebench.preparation.synthetic import discs, jpeg_bytes

HEIGHT, WIDTH = 40, 28
REGIONS = ["Alaska", "Québec", "Yucatán", "Oregon"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    species = long_tailed_species(rng, size, limit=32_000)
    numbers = rng.permutation(2 * size)[:size]  # ids of images have gaps
    names = [f"images/{folder_of(category)}/{number}.jpg" for category, number in zip(species, numbers, strict=True)]
    images = [_image(name, int(number)) for name, number in zip(names, numbers, strict=True)]
    regions = rng.integers(0, len(REGIONS), size).tolist()
    about = {
        "info": {
            "year": 2020,
            "version": "v1",
            "url": "http://example.org/2020",
            "description": "Synthetic sheets",
            "contributor": "José Müller",
            "date_created": "2020-02-21 00:00:00",
        },
        "licenses": [{"id": 1, "name": "CC", "url": "http://example.org/cc"}],
    }
    metadata = {
        "annotations": [
            {"category_id": int(category), "id": place, "image_id": image["id"], "region_id": region}
            for place, (category, image, region) in enumerate(zip(species, images, regions, strict=True))
        ],
        "categories": [_category(number) for number in np.unique(species).tolist()],
        "images": images,
        "regions": [{"id": number, "name": name} for number, name in enumerate(REGIONS)],
        **about,
    }
    tested = {"images": [_image("images/000/0.jpg", 0)], **about}
    _write(raw / "nybg2020", metadata, tested)
    for name, category in zip(names, species.tolist(), strict=True):
        _write_sheet(raw / "nybg2020" / "train" / name, rng, category)
    _write_sheet(raw / "nybg2020" / "test" / "images" / "000" / "0.jpg", rng, int(species[0]))
    (raw / "sample_submission.csv").write_text("Id,Predicted\n0,0\n", encoding="utf-8")


def _image(name: str, number: int) -> dict[str, object]:
    return {"file_name": name, "height": HEIGHT, "id": number, "license": 1, "width": WIDTH}


def _category(number: int) -> dict[str, object]:
    family, genus = f"Synthaceae{number % 7}", f"Genus{number % 23}"
    return {"id": number, "name": f"{genus} spécies{number}", "family": family, "genus": genus}


def _write(folder: Path, metadata: object, tested: object) -> None:
    for part, content in (("train", metadata), ("test", tested)):
        path = folder / part / "metadata.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(json.dumps(content, ensure_ascii=False).encode("latin-1"))


def _write_sheet(path: Path, rng: np.random.Generator, category: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jpeg_bytes(discs(rng, [category], HEIGHT, WIDTH)))
