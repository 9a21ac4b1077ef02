"""Videos: boxes within boxes that fill the file, and frames that stand where the table says."""

import io
import struct

import numpy as np
from PIL import Image

from mlebench.preparation.synthetic import jpeg_bytes
from mlebench.preparation.video import mp4_bytes

FRAMES = [jpeg_bytes(np.full((36, 64, 3), 50 * number, dtype=np.uint8)) for number in range(4)]
VIDEO = mp4_bytes(FRAMES, 64, 36)


def boxes(content):
    found, place = {}, 0
    while place < len(content):
        size, kind = struct.unpack_from(">I4s", content, place)
        assert size >= 8
        found[kind] = content[place + 8 : place + size]
        place += size
    assert place == len(content)
    return found


def test_frames_stand_where_the_table_says():
    found = boxes(VIDEO)
    assert list(found) == [b"ftyp", b"mdat", b"moov"]
    media = boxes(boxes(boxes(found[b"moov"])[b"trak"])[b"mdia"])
    table = boxes(boxes(media[b"minf"])[b"stbl"])
    count, *sizes = struct.unpack(">5I", table[b"stsz"][8:])
    (place,) = struct.unpack(">I", table[b"stco"][8:])
    assert count == len(FRAMES)
    for size, frame in zip(sizes, FRAMES, strict=True):
        assert VIDEO[place : place + size] == frame
        assert Image.open(io.BytesIO(VIDEO[place : place + size])).size == (64, 36)
        place += size


def test_rate_and_size():
    movie = boxes(boxes(VIDEO)[b"moov"])
    rate, length = struct.unpack(">II", movie[b"mvhd"][12:20])
    assert length / rate == len(FRAMES) * 1001 / 60_000
    track = boxes(movie[b"trak"])
    assert struct.unpack(">II", track[b"tkhd"][-8:]) == (64 << 16, 36 << 16)
    assert len(movie[b"mvhd"]) == 100
    assert len(track[b"tkhd"]) == 84
