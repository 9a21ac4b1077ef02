"""Pages of paper with characters in columns; every character is a pattern of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes, write_zip

CHARACTERS = "にのしてとをはあ一人山川年𠀋"
HEIGHT, WIDTH, CELL = 200, 160, 20
BOOKS = ["100241706", "200003076", "hnsd", "umgy"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    patterns = rng.random((len(CHARACTERS), 4, 4)) < 0.5
    patterns[:, 0, 0] = patterns[:, 3, 3] = True
    parts = {"train": size, "test": size // 5 + 1}
    books = [f"{BOOKS[number % len(BOOKS)]}_{number:05d}_{1 + number % 2}" for number in range(sum(parts.values()))]
    names = [books[place] for place in rng.permutation(len(books))]
    for part, count in parts.items():
        ids, names = names[:count], names[count:]
        pages = [_page(rng, patterns) for _ in ids]
        # JPEG does not shrink any further
        write_zip(
            raw / f"{part}_images.zip",
            {f"{n}.jpg": page for n, (page, _) in zip(ids, pages, strict=True)},
            compress=False,
        )
        if part == "train":
            write_csv(pd.DataFrame({"image_id": ids, "labels": [labels for _, labels in pages]}), raw / "train.csv")
        else:
            sample = pd.DataFrame({"image_id": ids, "labels": "U+003F 1 1 U+FF2F 2 2"})
            write_csv(sample, raw / "sample_submission.csv")
    codes = [_code(character) for character in CHARACTERS]
    write_csv(pd.DataFrame({"Unicode": codes, "char": list(CHARACTERS)}), raw / "unicode_translation.csv")


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _page(rng: np.random.Generator, patterns: np.ndarray) -> tuple[bytes, str]:
    """A JPEG file and its labels; one page in ten has a picture only, and no label."""
    page = rng.normal(215, 6, (HEIGHT, WIDTH))
    if rng.random() < 0.1:
        page[60:140, 40:120] -= 60
        return jpeg_bytes(page.clip(0, 255).astype(np.uint8)), ""
    labels = []
    for left in range(WIDTH - 2 * CELL, CELL // 2, -2 * CELL):  # columns run from right to left
        for top in range(CELL, HEIGHT - 2 * CELL, CELL + 4):
            if rng.random() < 0.3:
                continue
            which = int(min(rng.integers(0, len(CHARACTERS), 2)))  # the first ones are more frequent
            x, y, side = left + int(rng.integers(0, 4)), top + int(rng.integers(0, 4)), 16
            page[y : y + side, x : x + side] -= 150 * np.kron(patterns[which], np.ones((4, 4)))
            labels.append(f"{_code(CHARACTERS[which])} {x} {y} {side} {side}")
    return jpeg_bytes(page.clip(0, 255).astype(np.uint8)), " ".join(labels)
