"""The steps that competitions' `synthetic.py` are made of: ids, archives, pictures and sounds.

All bytes depend on the arguments alone, never on the clock, so that one seed always makes the same twin.
"""

from __future__ import annotations

import io
import wave
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image


def hex_ids(rng: np.random.Generator, count: int, length: int) -> list[str]:
    """`count` different texts of `length` hexadecimal digits, `length` >= 8; leading zeros and all-digit ones occur."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        digits = np.array(list("0123456789abcdef"))[rng.integers(0, 16, (count - len(ids), length))]
        ids.update(dict.fromkeys("".join(row) for row in digits))
    return list(ids)


def write_zip(archive: Path, members: Mapping[str, bytes | str], *, compress: bool = True) -> None:
    """Write a zip of `members`, content by name, in their order; texts in UTF-8. Makes the parent folders."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            opened.writestr(member, content)


def image_bytes(pixels: np.ndarray, image_format: str) -> bytes:
    """A picture file in one of Pillow's formats; `pixels`: uint8, (height, width) grey or (height, width, 3) RGB."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, image_format)
    return buffer.getvalue()


def png_bytes(pixels: np.ndarray) -> bytes:
    """A PNG file; `pixels`: uint8 or uint16, (height, width) grey, or uint8, (height, width, 3) RGB."""
    return image_bytes(pixels, "PNG")


def jpeg_bytes(pixels: np.ndarray) -> bytes:
    """A JPEG file; `pixels`: uint8, (height, width) grey or (height, width, 3) RGB."""
    return image_bytes(pixels, "JPEG")


def wav_bytes(samples: np.ndarray, rate: int) -> bytes:
    """A mono WAV file of 16 bits; `samples`: shape (length,), from -1 to 1; `rate` in samples a second."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()
