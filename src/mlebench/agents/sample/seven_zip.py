"""Unpack simple archives of the 7z format: blocks packed by LZMA, LZMA2 or BZip2, or not packed at all.

Source: 7zFormat.txt of the LZMA SDK.
"""

from __future__ import annotations

import bz2
import lzma
import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = b"7z\xbc\xaf\x27\x1c"
END, HEADER, STREAMS, FILES, PACKED, BLOCKS, PARTS = 0, 1, 4, 5, 6, 7, 8
SIZES, CHECKSUMS, BLOCK, BLOCK_SIZES, COUNTS, EMPTY, NAMES, PACKED_HEADER = 9, 10, 11, 12, 13, 14, 17, 23
COPY, LZMA2, LZMA, BZIP2 = b"\0", b"\x21", b"\3\1\1", b"\4\2\2"


@dataclass
class Block:
    """One packed stream: how it is packed, and the sizes of the files that it holds one after the other."""

    method: bytes
    settings: bytes
    offset: int = 0
    packed: int = 0
    size: int = 0
    parts: list[int] = field(default_factory=list)


class Reader:
    """Reads numbers from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self) -> int:
        """A number of one to nine bytes: the ones at the front of the first byte count the bytes that follow."""
        first, value = self.take(1)[0], 0
        for extra in range(8):
            mask = 0x80 >> extra
            if not first & mask:
                return value | (first & (mask - 1)) << 8 * extra
            value |= self.take(1)[0] << 8 * extra
        return value

    def bits(self, count: int) -> list[bool]:
        """Flags, eight to a byte."""
        data = self.take((count + 7) // 8)
        return [bool(data[place // 8] & (0x80 >> place % 8)) for place in range(count)]

    def skip_checksums(self, count: int) -> None:
        """Pass over the checksums of `count` streams."""
        known = count if self.take(1)[0] else sum(self.bits(count))
        self.take(4 * known)


def extract(archive: Path, folder: Path) -> None:
    """Unpack all files; ValueError for what is damaged or packed in another way."""
    with archive.open("rb") as opened:
        if opened.read(6) != MAGIC:
            raise ValueError(f"{archive.name} is no 7z archive")
        opened.seek(12)
        offset, size = struct.unpack("<QQ", opened.read(16))
        if not size:  # an archive without files
            return
        opened.seek(32 + offset)
        reader = Reader(opened.read(size))
        kind = reader.number()
        if kind == PACKED_HEADER:
            (block,) = read_streams(reader)
            reader = Reader(content(opened, block))
            kind = reader.number()
        blocks = read_streams(reader) if kind == HEADER and reader.number() == STREAMS else []
        names = read_names(reader)
        for block in blocks:
            data, start = content(opened, block), 0
            for part in block.parts:
                write_member(folder, names.pop(0), data[start : start + part])
                start += part


def write_member(folder: Path, name: str, data: bytes) -> None:
    """Write a file of an archive, unless it would stand outside of the folder."""
    target = (folder / name).resolve()
    if target.is_relative_to(folder.resolve()):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def content(opened, block: Block) -> bytes:  # noqa: ANN001 (a binary file)
    """The unpacked bytes of a block."""
    opened.seek(32 + block.offset)
    data = opened.read(block.packed)
    if block.method == COPY:
        return data
    if block.method == BZIP2:
        return bz2.decompress(data)
    if block.method == LZMA2:
        bits = block.settings[0]
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": (2 | bits & 1) << (bits // 2 + 11)}]
    elif block.method == LZMA:
        rest, dictionary = block.settings[0], struct.unpack("<I", block.settings[1:5])[0]
        shape = {"lc": rest % 9, "lp": rest // 9 % 5, "pb": rest // 45}
        filters = [{"id": lzma.FILTER_LZMA1, "dict_size": dictionary, **shape}]
    else:
        raise ValueError(f"packed by the unknown method {block.method.hex()}")
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress(data, block.size)


def read_streams(reader: Reader) -> list[Block]:
    """The blocks and where they stand."""
    offset, packed, blocks = 0, [], []
    while (kind := reader.number()) != END:
        if kind == PACKED:
            offset, packed = read_packed(reader)
        elif kind == BLOCKS:
            blocks = read_blocks(reader)
        elif kind == PARTS:
            read_parts(reader, blocks)
    for block, size in zip(blocks, packed, strict=True):
        block.offset, block.packed = offset, size
        offset += size
    return blocks


def read_packed(reader: Reader) -> tuple[int, list[int]]:
    """Where the packed streams begin, and their sizes."""
    offset, count, sizes = reader.number(), reader.number(), []
    while (kind := reader.number()) != END:
        if kind == SIZES:
            sizes = [reader.number() for _ in range(count)]
        elif kind == CHECKSUMS:
            reader.skip_checksums(count)
    return offset, sizes


def read_blocks(reader: Reader) -> list[Block]:
    """How the blocks are packed, and their unpacked sizes."""
    blocks: list[Block] = []
    while (kind := reader.number()) != END:
        if kind == BLOCK:
            count = reader.number()
            reader.take(1)
            for _ in range(count):
                if reader.number() != 1:
                    raise ValueError("several methods in a row are not understood")
                flags = reader.take(1)[0]
                method = reader.take(flags & 15)
                settings = reader.take(reader.number()) if flags & 32 else b""
                blocks.append(Block(method, settings))
        elif kind == BLOCK_SIZES:
            for block in blocks:
                block.size = reader.number()
                block.parts = [block.size]
        elif kind == CHECKSUMS:
            reader.skip_checksums(len(blocks))
    return blocks


def read_parts(reader: Reader, blocks: list[Block]) -> None:
    """How many files each block holds, and their sizes."""
    counts = [1] * len(blocks)
    kind = reader.number()
    if kind == COUNTS:
        counts = [reader.number() for _ in blocks]
        kind = reader.number()
    for block, count in zip(blocks, counts, strict=True):
        sizes = [reader.number() for _ in range(count - 1)] if kind == SIZES else []
        block.parts = [*sizes, block.size - sum(sizes)] if count else []
    if kind == SIZES:
        kind = reader.number()
    while kind != END:
        if kind == CHECKSUMS:
            reader.skip_checksums(sum(counts))
        kind = reader.number()


def read_names(reader: Reader) -> list[str]:
    """The names of the files that are not empty, in the order of the blocks."""
    if reader.place >= len(reader.data) or reader.number() != FILES:
        return []
    count = reader.number()
    names, empty = [""] * count, [False] * count
    while (kind := reader.number()) != END:
        part = Reader(reader.take(reader.number()))
        if kind == NAMES:
            part.take(1)
            names = part.data[1:].decode("utf-16-le").split("\0")[:count]
        elif kind == EMPTY:
            empty = part.bits(count)
    return [name for name, nothing in zip(names, empty, strict=True) if not nothing]
