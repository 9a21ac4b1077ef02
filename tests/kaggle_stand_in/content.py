"""What is served: bytes in memory or a file on disk, of which no more than a block is ever read at once."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from google_crc32c import Checksum

BLOCK = 1 << 16


class Content:
    """A file as it is at this moment."""

    def __init__(self, source: bytes | Path) -> None:
        self._source = source
        if isinstance(source, Path):
            facts = source.stat()
            self.size = facts.st_size
            self.known_by: object = (source, facts.st_size, facts.st_mtime_ns)
        else:
            self.size = len(source)
            self.known_by = source

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes, to be read."""
        with self._source.open("rb") if isinstance(self._source, Path) else BytesIO(self._source) as opened:
            yield opened

    def hashes(self) -> tuple[bytes, bytes]:
        """md5 and crc32c."""
        return _hashes(_Key(self))

    def members(self) -> dict[str, int]:
        """The sizes of the files in a zip; none if it is no zip."""
        return _members(_Key(self))


class _Key:
    """A content for a cache: equal to another if nothing says that it is different."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def __hash__(self) -> int:
        return hash(self.content.known_by)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.content.known_by == other.content.known_by


@lru_cache(maxsize=256)
def _hashes(key: _Key) -> tuple[bytes, bytes]:
    md5, crc32c = hashlib.md5(), Checksum()
    with key.content.open() as opened:
        while block := opened.read(1 << 20):
            md5.update(block)
            crc32c.update(block)
    return md5.digest(), crc32c.digest()


@lru_cache(maxsize=256)
def _members(key: _Key) -> dict[str, int]:
    try:
        with key.content.open() as opened, zipfile.ZipFile(opened) as archive:
            return {member.filename: member.file_size for member in archive.infolist() if not member.is_dir()}
    except zipfile.BadZipFile:
        return {}
