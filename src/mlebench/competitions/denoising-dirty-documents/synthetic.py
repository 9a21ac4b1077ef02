"""Pages of dark strokes in lines, each soiled in four ways; the pictures of a page get random numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.synthetic import png_bytes, write_zip

WIDTH, HEIGHTS = 60, (30, 42)
KINDS_OF_DIRT = 4


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    pages = [_page(rng) for _ in range(-(-size // KINDS_OF_DIRT))]
    pairs = [(_soiled(rng, page, kind), page) for page in pages for kind in range(KINDS_OF_DIRT)]
    unlabelled = [_soiled(rng, _page(rng), kind) for kind in range(KINDS_OF_DIRT)]
    numbers = rng.permutation(np.arange(1, 2 * (len(pairs) + len(unlabelled))))
    dirty, clean, test, sample = {}, {}, {}, ["id,value"]
    for number, (soiled, page) in zip(numbers, pairs, strict=False):
        dirty[f"train/{number}.png"] = png_bytes(soiled)
        clean[f"train_cleaned/{number}.png"] = png_bytes(page)
    for number, soiled in zip(numbers[len(pairs) :], unlabelled, strict=False):
        test[f"test/{number}.png"] = png_bytes(soiled)
        sample += [f"{number}_{row + 1}_{column + 1},1" for row, column in np.ndindex(soiled.shape)]

    write_zip(raw / "train.zip", _by_number(dirty))
    write_zip(raw / "train_cleaned.zip", _by_number(clean))
    write_zip(raw / "test.zip", test)
    write_zip(raw / "sampleSubmission.csv.zip", {"sampleSubmission.csv": "\n".join([*sample, ""])})


def _by_number(members: dict[str, bytes]) -> dict[str, bytes | str]:
    return {name: members[name] for name in sorted(members, key=lambda name: int(Path(name).stem))}


def _page(rng: np.random.Generator) -> np.ndarray:
    """Lines of strokes, anti-aliased: grey where ink and paper meet."""
    height = int(rng.choice(HEIGHTS))
    ink = np.zeros((height, WIDTH))
    for top in range(3, height - 7, 9):
        letters = np.repeat(rng.random((6, WIDTH // 3)) < 0.4, 3, axis=1)
        words = np.repeat(rng.random(WIDTH // 6) < 0.8, 6)
        ink[top : top + 6, 2 : WIDTH - 2] = (letters & words)[:, 2 : WIDTH - 2]
    blurred = (np.roll(ink, 1, axis=1) + 4 * ink + np.roll(ink, -1, axis=1)) / 6
    return (255 * (1 - blurred)).astype(np.uint8)


def _soiled(rng: np.random.Generator, page: np.ndarray, kind: int) -> np.ndarray:
    """The page folded, wrinkled, with a coffee stain or with footprints: paper darkens, ink fades."""
    rows, columns = np.mgrid[: page.shape[0], : page.shape[1]]
    row, column = rng.integers(0, page.shape[0]), rng.integers(0, page.shape[1])
    distance = np.hypot(rows - row, columns - column)
    slope = rng.uniform(0.2, 0.5)
    shade = (
        np.abs(columns - column) < 3,
        np.sin(slope * rows + rng.uniform(0, 6)) * np.cos(slope * columns) > 0.3,
        np.abs(distance - rng.integers(8, 18)) < 3,
        (distance < 12) & ((rows + columns) % 5 < 3),
    )[kind]
    paper = 225 - 70 * shade + rng.normal(0, 8, page.shape)
    faded = 60 + (paper - 60) * page / 255.0
    return np.clip(faded, 0, 255).astype(np.uint8)
