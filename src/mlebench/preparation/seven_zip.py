"""Archives of the 7z format, unpacked and written without further libraries.

An archive holds blocks of packed data, each of one file or many in a row, and at its end a header that tells
sizes, checksums and names. Source: 7zFormat.txt of the LZMA SDK. What contests are shipped in is read: copied,
LZMA, LZMA2 or BZip2 data, also through the filters for sounds and programs; anything else is refused by name.
"""

from __future__ import annotations

import bz2
import lzma
import shutil
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import leads_outside

_MAGIC = b"7z\xbc\xaf\x27\x1c"
_CHUNK = 1 << 20
_END, _HEADER, _PROPERTIES, _MORE_STREAMS, _STREAMS, _FILES, _PACKED, _BLOCKS, _PARTS = range(9)
_SIZE, _CHECKSUMS, _BLOCK, _BLOCK_SIZES, _PART_COUNTS, _EMPTY, _EMPTY_FILES = range(9, 16)
_NAMES, _ATTRIBUTES, _PACKED_HEADER = 0x11, 0x15, 0x17
_COPY, _LZMA2, _DELTA, _LZMA, _BZIP2 = b"\x00", b"\x21", b"\x03", b"\x03\x01\x01", b"\x04\x02\x02"
_X86 = b"\x03\x03\x01\x03"  # a filter of programs, which some writers apply to everything
_AES = b"\x06\xf1\x07\x01"
_MAX_HEADER = 1 << 30  # bytes, enough for millions of names
_UNIX = 0x8000  # flag among the attributes: the upper half is a Unix mode
_DICTIONARY = (22, 1 << 23)  # how a header names its size, and the size in bytes


@dataclass(frozen=True)
class _Coder:
    method: bytes
    settings: bytes


@dataclass
class _Block:
    """One stream of packed bytes, and the files that it holds one after the other."""

    coders: Sequence[_Coder]  # the one that gives the files first
    size: int = 0  # unpacked
    checksum: int | None = None
    offset: int = 0
    packed_size: int = 0
    part_sizes: Sequence[int] = ()
    part_checksums: Sequence[int | None] = ()


@dataclass(frozen=True)
class _Member:
    name: str
    has_content: bool
    is_folder: bool
    is_link: bool


class _Decoder(Protocol):
    """What the decompressors of `lzma` and `bz2` have in common."""

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def un7zip(archive: Path, folder: Path) -> None:
    """Extract `archive` into `folder`.

    Raises PreparationError for a damaged archive, and before anything is written for a member that would land
    outside the folder, a link, an encrypted or unsupported block, or too little disk.
    """
    try:
        with archive.open("rb") as opened:
            blocks, members = _read_header(opened)
            _refuse(archive, blocks, members, folder)
            _extract(opened, blocks, members, folder, archive.name)
    except (_Damaged, EOFError, OSError, UnicodeError, lzma.LZMAError) as error:
        raise PreparationError(f"{archive} is no readable 7z archive: {error}") from error


def write_7z(archive: Path, members: Iterable[tuple[str, BinaryIO]]) -> None:
    """Write a 7z archive of `members`, each a name and an opened file that is read to its end; one LZMA2 block.

    The bytes depend on names and contents alone, not on the clock. Makes the parent folders.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    number, dictionary = _DICTIONARY
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": dictionary}]
    coder = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=filters)
    names, sizes, checksums, packed = [], [], [], 0
    with archive.open("wb") as target:
        target.write(bytes(32))
        for name, source in members:
            size, checksum = 0, 0
            while chunk := source.read(_CHUNK):
                size, checksum = size + len(chunk), zlib.crc32(chunk, checksum)
                packed += target.write(coder.compress(chunk))
            names.append(name)
            sizes.append(size)
            checksums.append(checksum)
        if any(sizes):
            packed += target.write(coder.flush())
        header = _header(names, sizes, checksums, packed, number)
        target.write(header)
        start = struct.pack("<QQI", packed, len(header), zlib.crc32(header))
        target.seek(0)
        target.write(_MAGIC + b"\0\4" + struct.pack("<I", zlib.crc32(start)) + start)


# --- extracting


def _refuse(archive: Path, blocks: Sequence[_Block], members: Sequence[_Member], folder: Path) -> None:
    for member in members:
        if leads_outside(member.name):
            raise PreparationError(f"{archive}: the member {member.name!r} would be written outside the folder")
        if member.is_link:
            raise PreparationError(f"{archive}: the member {member.name!r} is a link")
    for block in blocks:
        if reason := _unreadable(block):
            raise PreparationError(f"{archive} is {reason}")
    needed = sum(block.size for block in blocks)
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise PreparationError(f"{archive} unpacks to {needed:,} bytes, {folder} has {free:,} free")


def _unreadable(block: _Block) -> str:
    """Why the block can't be unpacked; empty if it can."""
    *filters, method = [coder.method for coder in block.coders]
    if _AES in (*filters, method):
        return "encrypted"
    if method in (_COPY, _BZIP2) and not filters:
        return ""
    # The decoder of x86 holds back the last bytes until it is told of the end, which LZMA does not mark.
    if (method == _LZMA and filters in ([], [_DELTA])) or (method == _LZMA2 and filters in ([], [_DELTA], [_X86])):
        return ""
    return f"packed with the unsupported method {' and '.join(coder.method.hex() for coder in block.coders)}"


def _extract(opened: BinaryIO, blocks: Sequence[_Block], members: Sequence[_Member], folder: Path, name: str) -> None:
    for member in members:
        target = folder / member.name
        (target if member.is_folder else target.parent).mkdir(parents=True, exist_ok=True)
        if not member.has_content and not member.is_folder:
            target.write_bytes(b"")
    targets = iter([folder / member.name for member in members if member.has_content])
    with progress.step(f"unpacking {name}", sum(block.size for block in blocks)) as done:
        for block in blocks:
            unpacked = _Unpacked(opened, block)
            for size, checksum in zip(block.part_sizes, block.part_checksums, strict=True):
                _write_part(unpacked, size, checksum, next(targets))
                done(size)


def _write_part(unpacked: _Unpacked, size: int, checksum: int | None, target: Path) -> None:
    found = 0
    with target.open("wb") as file:
        for chunk in unpacked.read(size):
            found = zlib.crc32(chunk, found)
            file.write(chunk)
    if checksum is not None and found != checksum:
        raise _Damaged(f"the checksum of {target.name} is wrong")


class _Unpacked:
    """The content of a block, read from its beginning in portions."""

    def __init__(self, opened: BinaryIO, block: _Block) -> None:
        self._opened, self._left = opened, block.packed_size
        self._decoder = _decoder(block)
        opened.seek(32 + block.offset)

    def read(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes in chunks."""
        while size > 0:
            chunk = self._next(min(size, _CHUNK))
            size -= len(chunk)
            yield chunk

    def _next(self, most: int) -> bytes:
        """Up to `most` bytes, perhaps none yet."""
        if self._decoder is None:
            return self._packed(most)
        if self._decoder.needs_input:
            return self._decoder.decompress(self._packed(_CHUNK), most)
        return self._decoder.decompress(b"", most)

    def _packed(self, most: int) -> bytes:
        chunk = self._opened.read(min(most, self._left))
        if not chunk:
            raise _Damaged("it is cut off")
        self._left -= len(chunk)
        return chunk


def _decoder(block: _Block) -> _Decoder | None:
    """None for data that are merely copied."""
    *filters, last = block.coders
    if last.method == _COPY:
        return None
    if last.method == _BZIP2:
        return bz2.BZ2Decompressor()
    chain = [_filter(coder) for coder in filters]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[*chain, _lzma_filter(last, block.size)])


def _filter(coder: _Coder) -> dict[str, int]:
    if coder.method == _X86:
        return {"id": lzma.FILTER_X86}
    if len(coder.settings) != 1:
        raise _Damaged("the settings of a filter are none")
    return {"id": lzma.FILTER_DELTA, "dist": coder.settings[0] + 1}


def _lzma_filter(coder: _Coder, size: int) -> dict[str, int]:
    """The filter for data of `size` bytes, whose dictionary need not be larger than these."""
    settings, most = coder.settings, min(max(4096, size), (1 << 32) - 1)
    if coder.method == _LZMA2 and len(settings) == 1 and settings[0] <= 40:
        wanted = (2 | settings[0] & 1) << (settings[0] // 2 + 11)
        return {"id": lzma.FILTER_LZMA2, "dict_size": min(wanted, most)}
    if coder.method == _LZMA and len(settings) == 5 and settings[0] < 225:
        rest, lc = divmod(settings[0], 9)
        pb, lp = divmod(rest, 5)
        wanted = max(4096, int.from_bytes(settings[1:], "little"))
        return {"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": min(wanted, most)}
    raise _Damaged("the settings of a method are none")


# --- reading the header


class _Damaged(Exception):
    """The archive is not what its format says."""


class _Reader:
    """Values of the header, one after the other. Raises _Damaged at its end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def take(self, count: int) -> bytes:
        self.position += count
        if self.position > len(self.data):
            raise _Damaged("the header is cut off")
        return self.data[self.position - count : self.position]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """An integer of up to 64 bits: the leading ones of the first byte count the bytes that follow."""
        first = self.byte()
        extra = next((bit for bit in range(8) if not first & 0x80 >> bit), 8)
        high = first & (0x7F >> extra) if extra < 8 else 0
        return int.from_bytes(self.take(extra), "little") + (high << 8 * extra)

    def numbers(self, count: int) -> list[int]:
        return [self.number() for _ in range(count)]

    def count(self) -> int:
        """A number of things, each of which takes a bit of the header at least."""
        count = self.number()
        if count > 8 * len(self.data):
            raise _Damaged(f"the header counts {count:,} things")
        return count

    def bits(self, count: int) -> list[bool]:
        data = self.take((count + 7) // 8)
        return [bool(data[place // 8] & 0x80 >> place % 8) for place in range(count)]

    def optional_bits(self, count: int) -> list[bool]:
        """As `bits`, but a byte before them may say that all are set."""
        return [True] * count if self.byte() else self.bits(count)

    def checksums(self, count: int) -> list[int | None]:
        return [int.from_bytes(self.take(4), "little") if there else None for there in self.optional_bits(count)]

    def expect(self, *kinds: int) -> int:
        kind = self.byte()
        if kind not in kinds:
            raise _Damaged(f"the header has {kind} where one of {kinds} should stand")
        return kind


def _read_header(opened: BinaryIO) -> tuple[list[_Block], list[_Member]]:
    start = opened.read(32)
    if len(start) < 32 or not start.startswith(_MAGIC):
        raise _Damaged("it does not begin like one")
    checksum, offset, size, header_checksum = struct.unpack("<IQQI", start[8:])
    if zlib.crc32(start[12:]) != checksum:
        raise _Damaged("the checksum of its beginning is wrong")
    opened.seek(0, 2)
    if 32 + offset + size > opened.tell():
        raise _Damaged("it is cut off")
    if size == 0:
        return [], []
    opened.seek(32 + offset)
    header = opened.read(size)
    if zlib.crc32(header) != header_checksum:
        raise _Damaged("the checksum of its header is wrong")
    return _parse_header(header, opened)


def _parse_header(header: bytes, opened: BinaryIO) -> tuple[list[_Block], list[_Member]]:
    reader = _Reader(header)
    if reader.expect(_HEADER, _PACKED_HEADER) == _PACKED_HEADER:
        reader = _Reader(_unpack_header(reader, opened))
        reader.expect(_HEADER)
    blocks: list[_Block] = []
    members: list[_Member] = []
    while kind := reader.expect(_END, _STREAMS, _FILES):
        if kind == _STREAMS:
            blocks = _read_streams(reader)
        else:
            members = _read_files(reader)
    if sum(member.has_content for member in members) != sum(len(block.part_sizes) for block in blocks):
        raise _Damaged("there are more or fewer names than contents")
    return blocks, members


def _unpack_header(reader: _Reader, opened: BinaryIO) -> bytes:
    blocks = _read_streams(reader)
    if len(blocks) != 1 or _unreadable(blocks[0]) or blocks[0].size > _MAX_HEADER:
        raise _Damaged("its header can't be unpacked")
    header = b"".join(_Unpacked(opened, blocks[0]).read(blocks[0].size))
    if blocks[0].checksum not in (None, zlib.crc32(header)):
        raise _Damaged("the checksum of its header is wrong")
    return header


def _read_streams(reader: _Reader) -> list[_Block]:
    blocks: list[_Block] = []
    offset, packed_sizes = 0, []
    while kind := reader.expect(_END, _PACKED, _BLOCKS, _PARTS):
        if kind == _PACKED:
            offset, packed_sizes = _read_packed(reader)
        elif kind == _BLOCKS:
            blocks = _read_blocks(reader)
        else:
            _read_parts(reader, blocks)
    if len(packed_sizes) != len(blocks):
        raise _Damaged(f"{len(packed_sizes)} packed streams for {len(blocks)} blocks")
    for block, size in zip(blocks, packed_sizes, strict=True):
        block.offset, block.packed_size = offset, size
        offset += size
    return blocks


def _read_packed(reader: _Reader) -> tuple[int, list[int]]:
    """Where packed data begin, and how many bytes each block takes."""
    offset, count, sizes = reader.number(), reader.count(), []
    while kind := reader.expect(_END, _SIZE, _CHECKSUMS):
        if kind == _SIZE:
            sizes = reader.numbers(count)
        else:
            reader.checksums(count)
    return offset, sizes


def _read_blocks(reader: _Reader) -> list[_Block]:
    """The blocks with their methods and sizes; each is one file until parts are told."""
    reader.expect(_BLOCK)
    count = reader.count()
    _require_inline(reader)
    blocks, outputs = [], []
    for _ in range(count):
        coders, chain = _read_coders(reader)
        blocks.append(_Block([coders[place] for place in chain]))
        outputs.append((len(coders), chain[0]))
    reader.expect(_BLOCK_SIZES)
    for block, (streams, main) in zip(blocks, outputs, strict=True):
        block.size = reader.numbers(streams)[main]
    if reader.expect(_END, _CHECKSUMS) == _CHECKSUMS:
        for block, checksum in zip(blocks, reader.checksums(count), strict=True):
            block.checksum = checksum
        reader.expect(_END)
    for block in blocks:
        block.part_sizes, block.part_checksums = [block.size], [block.checksum]
    return blocks


def _read_coders(reader: _Reader) -> tuple[list[_Coder], list[int]]:
    """The methods of a block as they are listed, and their places in order, the one that gives the files first."""
    coders = []
    for _ in range(reader.count()):
        flags = reader.byte()
        method = reader.take(flags & 0xF)
        if flags & 0x10 and reader.numbers(2) != [1, 1]:
            raise _Damaged(f"the method {method.hex()} has several streams, which is not supported")
        coders.append(_Coder(method, reader.take(reader.number()) if flags & 0x20 else b""))
    if not coders:
        raise _Damaged("a block has no method")
    fed_by = {reader.number(): reader.number() for _ in coders[1:]}  # whose output is whose input
    chain = [place for place in range(len(coders)) if place not in fed_by.values()][:1]
    while chain and chain[-1] in fed_by and len(chain) < len(coders):
        chain.append(fed_by[chain[-1]])
    if len(chain) != len(coders) or max(chain) >= len(coders) or len(set(chain)) != len(chain):
        raise _Damaged("the methods of a block are no chain")
    return coders, chain


def _read_parts(reader: _Reader, blocks: Sequence[_Block]) -> None:
    """How blocks are divided into files. The last size of a block, and the checksum of its only file, are not told."""
    counts = [1] * len(blocks)
    kind = reader.byte()
    if kind == _PART_COUNTS:
        counts = [reader.count() for _ in blocks]
        kind = reader.byte()
    told = kind == _SIZE
    for block, count in zip(blocks, counts, strict=True):
        sizes = reader.numbers(count - 1) if told and count else []
        if len(sizes) < count - 1 or sum(sizes) > block.size:
            raise _Damaged("the sizes of the files in a block are none")
        block.part_sizes = [*sizes, block.size - sum(sizes)] if count else []
        block.part_checksums = [block.checksum] if count == 1 else [None] * count
    if told:
        kind = reader.byte()
    if kind == _CHECKSUMS:
        open_blocks = [block for block in blocks if block.part_checksums != [block.checksum] or block.checksum is None]
        checksums = iter(reader.checksums(sum(len(block.part_sizes) for block in open_blocks)))
        for block in open_blocks:
            block.part_checksums = [next(checksums) for _ in block.part_sizes]
        kind = reader.byte()
    if kind != _END:
        raise _Damaged(f"the header has {kind} after the files of the blocks")


def _read_files(reader: _Reader) -> list[_Member]:
    count = reader.count()
    is_empty, is_empty_file = [False] * count, list[bool]()
    names, modes = list[str](), [0] * count
    while kind := reader.byte():
        data = _Reader(reader.take(reader.number()))
        if kind == _EMPTY:
            is_empty = data.bits(count)
        elif kind == _EMPTY_FILES:
            is_empty_file = data.bits(sum(is_empty))
        elif kind == _NAMES:
            _require_inline(data)
            names = data.take(len(data.data) - 1).decode("utf-16-le").split("\0")[:-1]
        elif kind == _ATTRIBUTES:
            modes = _read_modes(data, count)
    if len(names) != count:
        raise _Damaged(f"there are {len(names)} names for {count} files")
    empty_files = iter(is_empty_file or [False] * count)
    return [
        _Member(name, not empty, empty and not next(empty_files), stat.S_ISLNK(mode))
        for name, empty, mode in zip(names, is_empty, modes, strict=True)
    ]


def _read_modes(reader: _Reader, count: int) -> list[int]:
    """The Unix mode of each file, 0 where it is not told."""
    told = reader.optional_bits(count)
    _require_inline(reader)
    attributes = [int.from_bytes(reader.take(4), "little") if there else 0 for there in told]
    return [value >> 16 if value & _UNIX else 0 for value in attributes]


def _require_inline(reader: _Reader) -> None:
    if reader.byte():
        raise _Damaged("a part of its header stands elsewhere, which is not supported")


# --- writing the header


def _header(names: list[str], sizes: list[int], checksums: list[int], packed: int, dictionary: int) -> bytes:
    has_content = [size > 0 for size in sizes]
    parts = [bytes([_HEADER])]
    if any(has_content):
        full = [place for place, there in enumerate(has_content) if there]
        crcs = b"".join(struct.pack("<I", checksums[place]) for place in full)
        part_sizes = b"".join(_number(sizes[place]) for place in full[:-1])
        parts += [
            bytes([_STREAMS, _PACKED, 0, 1, _SIZE]) + _number(packed) + bytes([_END]),
            bytes([_BLOCKS, _BLOCK, 1, 0, 1, 0x21]) + _LZMA2 + bytes([1, dictionary]),
            bytes([_BLOCK_SIZES]) + _number(sum(sizes)) + bytes([_END]),
            bytes([_PARTS, _PART_COUNTS]) + _number(len(full)) + bytes([_SIZE]) * (len(full) > 1) + part_sizes,
            bytes([_CHECKSUMS, 1]) + crcs + bytes([_END, _END]),
        ]
    parts.append(bytes([_FILES]) + _number(len(names)))
    if not all(has_content):
        parts += [_property(_EMPTY, _bits([not there for there in has_content]))]
        parts += [_property(_EMPTY_FILES, _bits([True] * has_content.count(False)))]
    parts += [_property(_NAMES, b"\0" + "".join(f"{name}\0" for name in names).encode("utf-16-le"))]
    attributes = struct.pack("<I", (stat.S_IFREG | 0o644) << 16 | _UNIX | 0x20)
    parts += [_property(_ATTRIBUTES, b"\1\0" + attributes * len(names)), bytes([_END, _END])]
    return b"".join(parts)


def _property(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + _number(len(content)) + content


def _bits(values: list[bool]) -> bytes:
    padded = values + [False] * (-len(values) % 8)
    return bytes(sum(0x80 >> bit for bit in range(8) if padded[start + bit]) for start in range(0, len(padded), 8))


def _number(value: int) -> bytes:
    """The inverse of `_Reader.number`."""
    extra = next(count for count in range(9) if count == 8 or value < 1 << 7 * (count + 1))
    first = 0xFF << (8 - extra) & 0xFF | (value >> 8 * extra if extra < 8 else 0)
    return bytes([first]) + (value & (1 << 8 * extra) - 1).to_bytes(extra, "little")
