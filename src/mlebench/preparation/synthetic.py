"""The steps that competitions' `synthetic.py` are made of: ids, archives, pictures and sounds.

All bytes depend on the arguments alone, never on the clock, so that one seed always makes the same twin.
"""

from __future__ import annotations

import io
import struct
import wave
import zipfile
from collections.abc import Mapping, Sequence
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


def aiff_bytes(samples: np.ndarray, rate: int) -> bytes:
    """A mono AIFF file of 16 bits; `samples`: shape (length,), from -1 to 1; `rate` in samples a second, above 0."""
    sound = (np.clip(samples, -1, 1) * 32767).astype(">i2").tobytes()
    # The rate is a float of 80 bits: exponent, then a mantissa whose first bit is its whole part.
    exponent = rate.bit_length() - 1
    extended = struct.pack(">HQ", 16383 + exponent, rate << (63 - exponent))
    common = struct.pack(">4sIhIh", b"COMM", 18, 1, len(samples), 16) + extended
    data = struct.pack(">4sIII", b"SSND", 8 + len(sound), 0, 0) + sound
    return struct.pack(">4sI4s", b"FORM", 4 + len(common) + len(data), b"AIFF") + common + data


def dicom_bytes(pixels: np.ndarray, uid: str, facts: Mapping[tuple[int, int], tuple[str, str]] | None = None) -> bytes:
    """A DICOM file of one grey picture, uncompressed; `pixels`: uint16, (height, width).

    `uid` is the picture's own number, digits and dots. `facts` adds elements of text, (kind, value) by tag:
    `{(0x0010, 0x0040): ("CS", "F")}` is the patient's sex.
    """
    height, width = pixels.shape
    radiograph = "1.2.840.10008.5.1.4.1.1.1.1"
    texts = {(0x0008, 0x0016): ("UI", radiograph), (0x0008, 0x0018): ("UI", uid), (0x0008, 0x0060): ("CS", "DX")}
    texts[0x0028, 0x0004] = ("CS", "MONOCHROME2")
    shorts = {0x0002: 1, 0x0010: height, 0x0011: width, 0x0100: 16, 0x0101: 16, 0x0102: 15, 0x0103: 0}
    elements = {tag: (kind, value.encode("ascii")) for tag, (kind, value) in {**texts, **(facts or {})}.items()}
    elements |= {(0x0028, element): ("US", struct.pack("<H", value)) for element, value in shorts.items()}
    elements[0x7FE0, 0x0010] = ("OW", pixels.astype("<u2").tobytes())
    meta = _dicom_elements(
        {
            (0x0002, 0x0001): ("OB", b"\0\1"),
            (0x0002, 0x0002): ("UI", radiograph.encode()),
            (0x0002, 0x0003): ("UI", uid.encode()),
            (0x0002, 0x0010): ("UI", b"1.2.840.10008.1.2.1"),  # explicit kinds, little endian
            (0x0002, 0x0012): ("UI", b"2.25.1"),
        }
    )
    length = _dicom_elements({(0x0002, 0x0000): ("UL", struct.pack("<I", len(meta)))})
    return b"".join([bytes(128), b"DICM", length, meta, _dicom_elements(elements)])


def _dicom_elements(elements: Mapping[tuple[int, int], tuple[str, bytes]]) -> bytes:
    """Elements in the order of their tags; values are padded to an even length."""
    parts = []
    for (group, element), (kind, value) in sorted(elements.items()):
        padded = value + (b"\0" if kind in ("UI", "OB") else b" ") * (len(value) % 2)
        size = struct.pack("<HI", 0, len(padded)) if kind in ("OB", "OW") else struct.pack("<H", len(padded))
        parts += [struct.pack("<HH", group, element), kind.encode(), size, padded]
    return b"".join(parts)


def discs(rng: np.random.Generator, labels: Sequence[int], height: int = 32, width: int = 32) -> np.ndarray:
    """RGB pixels (height, width, 3), uint8, of a disc for each label on noisy paper; a label always has one colour."""
    rows, columns = np.mgrid[:height, :width]
    pixels = rng.uniform(200, 230) + rng.normal(0, 6, (height, width, 3))
    for label in labels:
        row, column = rng.uniform(0.25, 0.75, 2) * (height, width)
        inside = (rows - row) ** 2 + (columns - column) ** 2 < (0.3 * min(height, width) / len(labels) ** 0.5) ** 2
        # Multiples of irrational numbers spread over the range of each channel.
        colour = 20 + 180 * (label * np.array([0.6180339887, 0.4142135624, 0.7320508076]) % 1)
        pixels[inside] = colour + rng.normal(0, 8, (int(inside.sum()), 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)
