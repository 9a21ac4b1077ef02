"""Chains of carbon with an atom of another kind here and there, drawn as skeletal formulas with speckles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, png_bytes

HEIGHT = 48
STEP, TOP, BOTTOM = 12, 16, 30  # of the zigzag, in pixels
SIDES = ["", "N", "O", "F"]  # what hangs at the end


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    unlabelled = size // 2 + 1
    ids = hex_ids(rng, size + unlabelled, 12)
    lengths, sides = rng.integers(2, 13, len(ids)), rng.integers(0, len(SIDES), len(ids))
    names = [_inchi(length, SIDES[side]) for length, side in zip(lengths, sides, strict=True)]

    for place, (name, length, side) in enumerate(zip(ids, lengths, sides, strict=True)):
        folder = raw / ("train" if place < size else "test") / name[0] / name[1] / name[2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(png_bytes(_drawing(rng, int(length), SIDES[side])))
    write_csv(pd.DataFrame({"image_id": ids[:size], "InChI": names[:size]}), raw / "train_labels.csv")
    write_csv(pd.DataFrame({"image_id": ids[size:]}).assign(InChI="InChI=1S/H2O/h1H2"), raw / "sample_submission.csv")
    others = [_inchi(length, side) for length in range(13, 40) for side in SIDES]
    write_csv(pd.DataFrame({"InChI": others}), raw / "extra_approved_InChIs.csv")


def _inchi(length: int, side: str) -> str:
    """The identifier of a chain of `length` carbons, the last of which carries `side`; alike the real ones, not one."""
    hydrogens = 2 * length + 2 + {"": 0, "N": 1, "O": 0, "F": -1}[side]
    atoms = length + bool(side)
    inner = f"2-{length}H2" if length > 2 else "2H2"
    tail = {"": "", "N": ",(H2,3,4)", "O": ",3H", "F": ""}[side]
    return f"InChI=1S/C{length}H{hydrogens}{side}/c{'-'.join(map(str, range(1, atoms + 1)))}/h{inner},1H3{tail}"


def _drawing(rng: np.random.Generator, length: int, side: str) -> np.ndarray:
    """A zigzag of `length` corners in black on white, uint8; turned upside down in half of the cases."""
    image = Image.new("L", (STEP * (length + 2) + int(rng.integers(0, 12)), HEIGHT), 255)
    pen = ImageDraw.Draw(image)
    corners = [(STEP * (place + 1), TOP if place % 2 else BOTTOM) for place in range(length)]
    pen.line(corners, fill=0, width=1)
    if side:
        x, y = corners[-1]
        pen.text((x + 3, y - 5), side, fill=0, font=_font())
    pixels = np.array(image)
    pixels[rng.random(pixels.shape) < 0.004] = 0
    return np.ascontiguousarray(np.flipud(pixels)) if rng.random() < 0.5 else pixels


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default()
