"""Small videos for synthetic twins, written without a library: JPEG pictures in a row, in an MP4 file."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MATRIX = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)  # no turning, no scaling
_RATE = 60_000  # units of time a second
_FTYP = struct.pack(">I4s4sI4s4s", 24, b"ftyp", b"mp42", 0, b"mp42", b"isom")


def mp4_bytes(frames: Sequence[bytes], width: int, height: int, duration: int = 1001) -> bytes:
    """An MP4 file of the JPEG files `frames`, all of this size in pixels.

    Each is shown for `duration` 60,000ths of a second; 1001 make the 59.94 frames a second of television.
    Source: ISO/IEC 14496-12, the base media file format.
    """
    data = b"".join(frames)
    samples = _samples(frames, width, height, duration, offset=len(_FTYP) + 8)
    length = duration * len(frames)
    header = _full(
        b"mvhd", struct.pack(">4IIH10x", 0, 0, _RATE, length, 1 << 16, 1 << 8), _MATRIX, bytes(24), b"\0\0\0\2"
    )
    track_size = struct.pack(">II", width << 16, height << 16)
    track = _full(b"tkhd", struct.pack(">5I16x", 0, 0, 1, 0, length), _MATRIX, track_size, flags=3)
    media = _box(
        b"mdia",
        _full(b"mdhd", struct.pack(">4IHH", 0, 0, _RATE, length, 0x55C4, 0)),
        _full(b"hdlr", struct.pack(">I4s12x", 0, b"vide"), b"frames\0"),
        _box(
            b"minf",
            _full(b"vmhd", bytes(8), flags=1),
            _box(b"dinf", _full(b"dref", b"\0\0\0\1", _full(b"url ", flags=1))),
            samples,
        ),
    )
    return _FTYP + _box(b"mdat", data) + _box(b"moov", header, _box(b"trak", track, media))


def _samples(frames: Sequence[bytes], width: int, height: int, duration: int, offset: int) -> bytes:
    """Where the frames stand in the file, how long each is, and what they are."""
    resolution = struct.pack(">II", 72 << 16, 72 << 16)
    entry = struct.pack(">6xH16xHH", 1, width, height) + resolution + struct.pack(">IH32sHh", 0, 1, b"", 24, -1)
    return _box(
        b"stbl",
        _full(b"stsd", b"\0\0\0\1", _box(b"jpeg", entry)),
        _full(b"stts", struct.pack(">3I", 1, len(frames), duration)),
        _full(b"stsc", struct.pack(">4I", 1, 1, len(frames), 1)),
        _full(b"stsz", struct.pack(">II", 0, len(frames)), *(struct.pack(">I", len(frame)) for frame in frames)),
        _full(b"stco", struct.pack(">II", 1, offset)),
    )


def _box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I4s", len(content) + 8, kind) + content


def _full(kind: bytes, *parts: bytes, flags: int = 0) -> bytes:
    """A box with a version, which is 0, and flags."""
    return _box(kind, struct.pack(">I", flags), *parts)
