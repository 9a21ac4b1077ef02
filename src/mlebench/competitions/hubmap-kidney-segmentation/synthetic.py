"""Pink tissue with round purple glomeruli, their outlines as polygons, and the donors' data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, image_bytes

# Different shapes of equally many pixels: a mask of one picture is well formed for every other.
SHAPES = [(120, 160), (160, 120), (96, 200), (200, 96), (128, 150), (150, 128)]
Polygon = list[list[int]]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = size // 3
    ids = hex_ids(rng, size + unlabelled, 9)
    shapes = [SHAPES[place] for place in rng.integers(0, len(SHAPES), len(ids))]
    codes = []
    for place, (name, shape) in enumerate(zip(ids, shapes, strict=True)):
        outlines = _outlines(rng, *shape)
        mask = _filled(outlines, *shape)
        codes += encode_run_lengths(mask[None])
        folder = raw / ("train" if place < size else "test")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.tiff").write_bytes(image_bytes(_picture(rng, mask), "TIFF"))
        _write_polygons(folder / f"{name}-anatomical-structure.json", "Cortex", [_frame(*shape)])
        if place < size:
            _write_polygons(folder / f"{name}.json", "glomerulus", outlines)

    train = pd.DataFrame({"id": ids[:size], "encoding": codes[:size]})
    write_csv(train.iloc[rng.permutation(size)], raw / "train.csv")
    write_csv(pd.DataFrame({"id": ids[size:]}).assign(predicted=""), raw / "sample_submission.csv")
    facts = _facts(rng, ids, shapes)
    write_csv(facts.iloc[rng.permutation(len(ids))], raw / "HuBMAP-20-dataset_information.csv")


def _outlines(rng: np.random.Generator, height: int, width: int) -> list[Polygon]:
    """Six to twelve closed, roughly round polygons within the picture."""
    outlines = []
    angles = np.linspace(0, 2 * np.pi, 17)[:-1]
    for _ in range(rng.integers(6, 13)):
        radius = rng.uniform(5, 9) * rng.uniform(0.85, 1.15, len(angles))
        x = rng.integers(12, width - 12) + radius * np.cos(angles)
        y = rng.integers(12, height - 12) + radius * np.sin(angles)
        points = np.round(np.column_stack([x, y])).astype(int).tolist()
        outlines.append([*points, points[0]])
    return outlines


def _filled(outlines: list[Polygon], height: int, width: int) -> np.ndarray:
    canvas = Image.new("L", (width, height))
    for outline in outlines:
        ImageDraw.Draw(canvas).polygon([(x, y) for x, y in outline], fill=1, outline=1)
    return np.asarray(canvas, dtype=bool)


def _frame(height: int, width: int) -> Polygon:
    return [[0, 0], [width, 0], [width, height], [0, height], [0, 0]]


def _picture(rng: np.random.Generator, mask: np.ndarray) -> np.ndarray:
    """RGB, uint8: glomeruli are darker and bluer than the tissue around them."""
    colour = np.where(mask[:, :, None], [150, 70, 160], [220, 150, 190])
    return np.clip(colour + rng.normal(0, 14, (*mask.shape, 3)), 0, 255).astype(np.uint8)


def _write_polygons(path: Path, kind: str, outlines: list[Polygon]) -> None:
    features = [
        {
            "type": "Feature",
            "id": "PathAnnotationObject",
            "geometry": {"type": "Polygon", "coordinates": [outline]},
            "properties": {"classification": {"name": kind, "colorRGB": -3140401}, "isLocked": True},
        }
        for outline in outlines
    ]
    path.write_text(json.dumps(features), encoding="utf-8")


def _facts(rng: np.random.Generator, ids: list[str], shapes: list[tuple[int, int]]) -> pd.DataFrame:
    """A row for each picture; the weight of some donors, and with it their index, is unknown."""
    count = len(ids)
    height_cm, bmi = rng.uniform(155, 195, count).round(1), rng.uniform(19, 38, count).round(1)
    weight = pd.Series((bmi * (height_cm / 100) ** 2).round(1)).mask(rng.random(count) < 0.15)
    cortex = rng.integers(55, 90, count)
    return pd.DataFrame(
        {
            "image_file": [f"{name}.tiff" for name in ids],
            "width_pixels": [width for _, width in shapes],
            "height_pixels": [height for height, _ in shapes],
            "anatomical_structures_segmention_file": [f"{name}-anatomical-structure.json" for name in ids],
            "glomerulus_segmentation_file": [f"{name}.json" for name in ids],
            "patient_number": rng.integers(60_000, 70_000, max(2, count // 2))[
                rng.integers(0, max(2, count // 2), count)
            ],
            "race": rng.choice(["White", "Black or African American", "Hispanic, other"], count),
            "ethnicity": "Not Hispanic or Latino",
            "sex": rng.choice(["Female", "Male"], count),
            "age": rng.integers(20, 80, count),
            "weight_kilograms": weight,
            "height_centimeters": height_cm,
            "bmi_kg/m^2": pd.Series(bmi).where(weight.notna()),
            "laterality": rng.choice(["Left", "Right"], count),
            "percent_cortex": cortex,
            "percent_medulla": 100 - cortex,
        }
    )
