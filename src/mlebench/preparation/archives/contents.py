"""The content of a zip's member, unpacked by any of the methods in use, in chunks."""

from __future__ import annotations

import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_READ, _CHUNK = 1 << 18, 1 << 20  # bytes read at a time, and at most unpacked at a time
_AT_ONCE = 4 << 20  # bytes; smaller members are unpacked in one go

_DEFLATE64 = 9
_SIMPLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NAMES = {
    1: "shrink",
    **dict.fromkeys((2, 3, 4, 5), "reduce"),
    6: "implode",
    10: "PKWARE's implode",
    93: "zstd",
    94: "MP3",
    95: "xz",
    96: "JPEG",
    97: "WavPack",
    98: "PPMd",
    99: "AES",
}
# To how many bytes one packed byte can unpack at most, where the format has a limit.
LEAST_PACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}


class Damaged(Exception):
    """What is wrong with the content of a member."""


class Packed(NamedTuple):
    """A member and where its packed content is."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    file: int  # opened
    start: int


def content_of(member: Packed) -> Iterable[bytes]:
    """The content in chunks, perhaps more than declared: whoever takes it stops. Raises Damaged."""
    info = member.info
    if info.compress_type in _SIMPLE and info.file_size <= _AT_ONCE and info.compress_size <= _AT_ONCE:
        return (_at_once(member),)
    return METHODS[info.compress_type](member)


def method_name(method: int) -> str:
    """The number of a method, with its name if it has one."""
    return f"{method} ({_NAMES[method]})" if method in _NAMES else str(method)


def _at_once(member: Packed) -> bytes:
    """The content of a small member, which has no need of an iterator: pictures come in tens of thousands."""
    info = member.info
    data = os.pread(member.file, info.compress_size, member.start)
    if info.compress_type == zipfile.ZIP_STORED:
        return data
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = stream.decompress(data, info.file_size + 1)
    except zlib.error as error:
        raise Damaged(str(error)) from error
    if len(content) <= info.file_size and not stream.eof:
        raise Damaged("it ends too early")
    return content


def _stored(member: Packed) -> Iterator[bytes]:
    return _packed(member, _CHUNK)


def _deflated(member: Packed) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for data in _packed(member, _READ):
            left = data
            while left and not stream.eof:
                yield stream.decompress(left, _CHUNK)
                left = stream.unconsumed_tail
        while not stream.eof and (content := stream.decompress(b"", _CHUNK)):  # held back by the limit
            yield content
    except zlib.error as error:
        raise Damaged(str(error)) from error
    if not stream.eof:
        raise Damaged("it ends too early")


def _deflated64(member: Packed) -> Iterator[bytes]:
    from inflate64 import Inflater

    stream = Inflater()
    try:
        for data in _packed(member, 1 << 14):
            if stream.eof:
                break
            yield stream.inflate(data)
    except ValueError as error:
        raise Damaged(str(error)) from error


def _by_zipfile(member: Packed) -> Iterator[bytes]:
    """What is rarely used is left to the standard library."""
    try:
        with member.archive.open(member.info) as content:
            while chunk := content.read(_CHUNK):
                yield chunk
    except (zipfile.BadZipFile, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise Damaged(str(error)) from error


def _packed(member: Packed, length: int) -> Iterator[bytes]:
    place, left = member.start, member.info.compress_size
    while left:
        data = os.pread(member.file, min(length, left), place)
        if not data:
            raise Damaged("it ends too early")
        place, left = place + len(data), left - len(data)
        yield data


METHODS: dict[int, Callable[[Packed], Iterator[bytes]]] = {
    zipfile.ZIP_STORED: _stored,
    zipfile.ZIP_DEFLATED: _deflated,
    zipfile.ZIP_BZIP2: _by_zipfile,
    zipfile.ZIP_LZMA: _by_zipfile,
    _DEFLATE64: _deflated64,
}
