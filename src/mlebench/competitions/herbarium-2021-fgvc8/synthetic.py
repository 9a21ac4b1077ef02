"""Sheets of five institutions with a coloured disc for a plant; each species has its colour."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mlebench.preparation.herbarium import folder_of, long_tailed_species
from mlebench.preparation.synthetic import discs, jpeg_bytes

HEIGHT, WIDTH = 40, 28
INSTITUTIONS = ["Garden of the North", "Museum of the Islands", "Naturalia", "Herbarium of the South", "Te Museo"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    species = long_tailed_species(rng, size, limit=64_500)
    numbers = np.sort(rng.choice(2 * size, size, replace=False)) + 1_000_000
    homes = rng.integers(0, len(INSTITUTIONS), size)
    names = [f"images/{folder_of(category)}/{number}.jpg" for category, number in zip(species, numbers, strict=True)]
    about = {
        "info": {
            "year": 2021,
            "version": "1.0",
            "url": "https://example.org",
            "description": "Synthetic sheets",
            "contributor": "Jardín de Síntesis",
            "date_created": "2021-01-25 12:00:00",
        },
        "licenses": [{"id": n, "name": f"Licence {n}", "url": "https://example.org"} for n in range(3)],
    }
    metadata = {
        "annotations": [
            {"category_id": category, "id": number + 7, "image_id": number, "region_id": home}
            for category, number, home in zip(species.tolist(), numbers.tolist(), homes.tolist(), strict=True)
        ],
        "categories": [_category(number) for number in np.unique(species).tolist()],
        "images": [
            _image(name, number, home % 3)
            for name, number, home in zip(names, numbers.tolist(), homes.tolist(), strict=True)
        ],
        "institutions": [{"id": number, "name": name} for number, name in enumerate(INSTITUTIONS)],
        **about,
    }
    tested = {"images": [{**_image("images/000/0.jpg", 0, 0), "id": "0"}], **about}
    _write_json(raw / "train" / "metadata.json", metadata)
    _write_json(raw / "test" / "metadata.json", tested)
    for name, category in zip(names, species.tolist(), strict=True):
        _write_sheet(raw / "train" / name, rng, category)
    _write_sheet(raw / "test" / "images" / "000" / "0.jpg", rng, int(species[0]))
    (raw / "sample_submission.csv").write_text("Id,Predicted\n0,0\n", encoding="utf-8")


def _image(name: str, number: int, licence: int) -> dict[str, object]:
    return {"file_name": name, "height": HEIGHT, "id": number, "license": licence, "width": WIDTH}


def _category(number: int) -> dict[str, object]:
    name = f"Genus{number % 23} espèce{number} L."
    return {"family": f"Synthaceae{number % 7}", "id": number, "name": name, "order": f"Ordo{number % 3}"}


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _write_sheet(path: Path, rng: np.random.Generator, category: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jpeg_bytes(discs(rng, [category], HEIGHT, WIDTH)))
