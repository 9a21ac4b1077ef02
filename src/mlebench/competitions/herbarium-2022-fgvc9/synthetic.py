"""Sheets with a coloured disc for a plant; each species has its colour, each genus is far from the others."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from mlebench.preparation.herbarium import folder_of, long_tailed_species
from mlebench.preparation.synthetic import discs, jpeg_bytes

HEIGHT, WIDTH = 40, 28
GENERA = 23
COLLECTIONS = ["NY", "US", "MO", "BRY", "CAS"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    species = np.sort(long_tailed_species(rng, size, limit=15_505, least=3))
    homes = rng.integers(0, len(COLLECTIONS), size).tolist()
    ids = _ids(species.tolist(), rng)
    names = [f"{folder_of(category)}/{name}.jpg" for category, name in zip(species.tolist(), ids, strict=True)]
    metadata = {
        "annotations": [
            {"genus_id": category % GENERA, "institution_id": home, "category_id": category, "image_id": name}
            for category, home, name in zip(species.tolist(), homes, ids, strict=True)
        ],
        "images": [
            {"image_id": name, "file_name": file, "license": home % 3 + 1}
            for name, file, home in zip(ids, names, homes, strict=True)
        ],
        "categories": [_category(number) for number in np.unique(species).tolist()],
        "genera": [{"genus_id": number, "genus": f"Genus{number}"} for number in range(GENERA)],
        "institutions": [{"institution_id": n, "collectionCode": code} for n, code in enumerate(COLLECTIONS)],
        "distances": [
            {"genus_id_x": x, "genus_id_y": y, "distance": (y - x) / 10} for y in range(GENERA) for x in range(y)
        ],
        "licenses": [
            {"id": n, "name": f"CC BY {n}.0", "url": f"https://example.org/licenses/by/{n}.0/"} for n in range(1, 4)
        ],
    }
    tested = [{"image_id": "0", "file_name": "000/test-000000.jpg", "license": 1}]
    (raw / "train_metadata.json").write_text(json.dumps(metadata, ensure_ascii=False), encoding="utf-8")
    (raw / "test_metadata.json").write_text(json.dumps(tested), encoding="utf-8")
    (raw / "sample_submission.csv").write_text("Id,Predicted\n0,42\n", encoding="utf-8")
    for name, category in zip(names, species.tolist(), strict=True):
        _write_sheet(raw / "train_images" / name, rng, category)
    _write_sheet(raw / "test_images" / "000" / "test-000000.jpg", rng, int(species[0]))


def _ids(species: list[int], rng: np.random.Generator) -> list[str]:
    """Numbers that ascend within each species; one in five is left out."""
    last: defaultdict[int, int] = defaultdict(int)
    ids = []
    for category, step in zip(species, 1 + (rng.random(len(species)) < 0.2), strict=True):
        last[category] += int(step)
        ids.append(f"{category:05d}__{last[category]:03d}")
    return ids


def _category(number: int) -> dict[str, object]:
    genus, species = f"Genus{number % GENERA}", f"species{number}"
    return {
        "category_id": number,
        "scientificName": f'{genus} {species} Müll. & "Co"',
        "family": f"Synthaceae{number % 7}",
        "genus": genus,
        "species": species,
        "authors": "L. — é",
    }


def _write_sheet(path: Path, rng: np.random.Generator, category: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jpeg_bytes(discs(rng, [category], HEIGHT, WIDTH)))
