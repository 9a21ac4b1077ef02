"""Extracting zip archives: members side by side, checked twice, and only those that are not there yet.

What can be known beforehand is checked before anything is written: names, links, encryption, methods, sizes that no
compression reaches, members that lie over each other. Each member is then written up to its declared size and not a
byte further, and its CRC-32 is compared.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import NamedTuple

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives.contents import LEAST_PACKED, METHODS, Damaged, Packed, content_of, method_name
from mlebench.preparation.archives.kinds import kind_of, misnamed
from mlebench.preparation.archives.members import (
    NEW_FILE,
    Member,
    is_junk,
    make_folders,
    make_way,
    parents_of,
    place,
    refused,
    require_room,
)

_HEADER = struct.Struct("<4sHHHHHIIIHH")  # before each member
_ENCRYPTED, _IN_UTF8 = 0x1, 0x800  # flags
_MSDOS = 0  # where modes of files mean nothing
_NAME_IN_UTF8 = b"up"  # kind of an extra field
_CHUNK = 1 << 20
_STEP = 4 << 20  # bytes that are shown as progress at once


class Entry(NamedTuple):
    """A member, and where in the archive it may be."""

    info: zipfile.ZipInfo
    name: str
    start: int  # of its header
    end: int  # of all that can be its own: what follows begins here

    def as_member(self) -> Member:
        """What has to be known to place it."""
        return Member(self.name, self.info.file_size, self.name.endswith("/"), refusal(self.info))


def unzip(archive: Path, folder: Path) -> None:
    """Extract `archive` into `folder`, members in parallel; those that are there with size and CRC-32 are left alone.

    Names are read as UTF-8 where the archive says so or they can be, else as code page 437. Raises PreparationError,
    before anything is written, for a damaged archive, a member that would land outside the folder, a link, an
    encrypted or unsupported member, two members at one place or over each other, a size that can't be true, or too
    little disk; and for content that is damaged or larger than declared.
    """
    with _opened(archive) as opened:
        entries = [entry for entry in _entries(archive, opened) if not is_junk(entry.name)]
        members = [entry.as_member() for entry in entries]
        paths = place(archive, members, folder)
        work = [_Work(entry, path) for entry, path in zip(entries, paths, strict=True) if not entry.name.endswith("/")]
        has_some = folder.is_dir() and any(folder.iterdir())
        sizes = [0 if has_some and _has_size(folder, each) else each.entry.info.file_size for each in work]
        require_room(archive, folder, sum(sizes), len(work))
        make_folders(archive, folder, parents_of(members, paths))
        total = sum(each.entry.info.file_size for each in work)
        text = f"unpacking {archive.name}{misnamed(archive, 'zip')}"
        with progress.step(text, total, "B") as done, archive.open("rb", 0) as file:
            _Extraction(archive, opened, file.fileno(), folder, has_some, done).run(work)


def name_of(info: zipfile.ZipInfo) -> str:
    """The member's name: UTF-8 where the archive says so or its bytes can be read so, else code page 437.

    Many packers write UTF-8 and forget the flag. In code page 437 every byte is a character, so that names in other
    encodings (Shift-JIS, say) come out as other letters, but always the same.
    """
    if _NAME_IN_UTF8 in info.extra and (name := _name_in_extra(info)):
        return name
    if info.flag_bits & _IN_UTF8 or info.orig_filename.isascii():
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _name_in_extra(info: zipfile.ZipInfo) -> str:
    """The name that Info-ZIP adds in UTF-8, if it belongs to the one in the header; else an empty text."""
    extra = info.extra
    while len(extra) >= 4:
        kind, (length,) = extra[:2], struct.unpack_from("<H", extra, 2)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _NAME_IN_UTF8 and field[:5] == b"\x01" + struct.pack("<I", zlib.crc32(_raw_name(info))):
            with suppress(UnicodeDecodeError):
                return field[5:].decode("utf-8")
    return ""


def refusal(info: zipfile.ZipInfo) -> str:
    """What is wrong with a member that can't be unpacked; empty if nothing is."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) and info.create_system != _MSDOS:
        return "is neither a file nor a folder"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in METHODS:
        return f"is packed with the unsupported method {method_name(info.compress_type)}"
    if info.compress_size < info.file_size // LEAST_PACKED.get(info.compress_type, info.file_size + 1):
        return f"can't unpack to {info.file_size:,} bytes from {info.compress_size:,}: an archive made to fill disks"
    return ""


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        opened = zipfile.ZipFile(archive)
    except OSError as error:
        raise PreparationError(f"{archive} is no readable zip archive: {error}") from error
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError, OverflowError) as error:
        if (kind := kind_of(archive)) != "zip":
            raise PreparationError(f"{archive} is no zip archive, but a {kind} archive by its content") from error
        raise PreparationError(f"{archive} is no readable zip archive: {error}") from error
    with opened:
        yield opened


def _entries(archive: Path, opened: zipfile.ZipFile) -> list[Entry]:
    """All members in the order of their places. Raises PreparationError for two that lie over each other."""
    infos = sorted(opened.infolist(), key=lambda info: info.header_offset)
    starts = [info.header_offset for info in infos]
    entries = [
        Entry(info, name_of(info), info.header_offset, end)
        for info, end in zip(infos, [*starts, opened.start_dir][1:], strict=True)
    ]
    for entry, following in pairwise([*entries, None]):
        assert entry is not None
        least = entry.start + _HEADER.size + len(_raw_name(entry.info)) + entry.info.compress_size
        if least > entry.end:
            other = "the archive's directory" if following is None else repr(following.name)
            raise refused(archive, entry.name, f"lies over {other}")
        if "\0" in entry.info.orig_filename:
            raise refused(archive, entry.info.orig_filename, "has a name with a NUL in it")
    return entries


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    name = info.orig_filename
    return name.encode("utf-8" if name.isascii() or info.flag_bits & _IN_UTF8 else "cp437")


class _Work(NamedTuple):
    entry: Entry
    path: str  # below the folder


def _has_size(folder: Path, work: _Work) -> bool:
    try:
        found = os.lstat(f"{folder}/{work.path}")
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == work.entry.info.file_size


class _Stopped(Exception):
    """Another member failed, or the person at the terminal has had enough."""


class _Extraction:
    """Writes members from several threads; the first failure, or an interruption, stops them all."""

    def __init__(
        self,
        archive: Path,
        opened: zipfile.ZipFile,
        file: int,
        folder: Path,
        has_some: bool,
        done: Callable[[int], None],
    ) -> None:
        self._archive, self._opened, self._file, self._folder = archive, opened, file, folder
        self._has_some, self._done = has_some, done
        self._stop = Event()
        self._failures: list[BaseException] = []

    def run(self, work: Sequence[_Work]) -> None:
        """Write all that is missing. Raises the failure that came first."""
        workers = min(os.cpu_count() or 1, 16)
        pool = ThreadPoolExecutor(workers)
        try:
            wait([pool.submit(self._extract_share, share) for share in _shares(work, workers)])
        finally:
            self._stop.set()
            pool.shutdown(cancel_futures=True)
        if self._failures:
            raise self._failures[0]

    def _extract_share(self, share: Sequence[_Work]) -> None:
        try:
            self._extract_all(share)
        except BaseException as error:
            if not self._stop.is_set():
                self._failures.append(error)
            self._stop.set()

    def _extract_all(self, share: Sequence[_Work]) -> None:
        shown = 0
        for work in share:
            if self._stop.is_set():
                return
            if self._has_some and _has_size(self._folder, work) and self._has_content(work):
                shown += work.entry.info.file_size
            else:
                shown += self._extract(work)
            if shown >= _STEP:
                self._done(shown)
                shown = 0
        self._done(shown)

    def _has_content(self, work: _Work) -> bool:
        crc = 0
        try:
            with Path(f"{self._folder}/{work.path}").open("rb", 0) as file:
                while (chunk := file.read(_CHUNK)) and not self._stop.is_set():
                    crc = zlib.crc32(chunk, crc)
        except OSError:  # what can't be read is written anew
            return False
        return crc == work.entry.info.CRC

    def _extract(self, work: _Work) -> int:
        """Write one member; how many of its bytes have not been shown as progress. Nothing is left of a damaged one."""
        target = f"{self._folder}/{work.path}"
        if self._has_some:
            make_way(self._archive, work.path, target)
        try:
            file = os.open(target, NEW_FILE, 0o666)
        except OSError as error:
            raise refused(self._archive, work.path, f"can't be written: {error.strerror}") from error
        try:
            try:
                return self._write(work.entry, file)
            finally:
                os.close(file)
        except BaseException as error:
            Path(target).unlink(missing_ok=True)
            if isinstance(error, Damaged):
                raise refused(self._archive, work.entry.name, f"is damaged: {error}") from error
            if isinstance(error, OSError):
                raise refused(self._archive, work.entry.name, f"can't be unpacked: {error.strerror}") from error
            raise

    def _write(self, entry: Entry, file: int) -> int:
        info = entry.info
        packed = Packed(self._opened, info, self._file, self._start_of_content(entry))
        size = crc = shown = 0
        for chunk in content_of(packed):
            if self._stop.is_set():
                raise _Stopped
            size += len(chunk)
            if size > info.file_size:
                raise Damaged(f"it unpacks to more than the {info.file_size:,} bytes that it declares")
            crc = zlib.crc32(chunk, crc)
            _write_all(file, chunk)
            if size - shown >= _STEP:
                self._done(size - shown)
                shown = size
        if size != info.file_size:
            raise Damaged(f"it unpacks to {size:,} bytes and declares {info.file_size:,}")
        if crc != info.CRC:
            raise Damaged("its CRC-32 is another one")
        return size - shown

    def _start_of_content(self, entry: Entry) -> int:
        """Where the content begins. Raises Damaged if the header there and the directory don't agree."""
        name = _raw_name(entry.info)
        header = os.pread(self._file, _HEADER.size + len(name), entry.start)
        if len(header) < _HEADER.size + len(name) or not header.startswith(b"PK\x03\x04"):
            raise Damaged(f"it has no header at byte {entry.start:,}")
        _, _, _, method, _, _, _, _, _, length, extra = _HEADER.unpack_from(header)
        if header[_HEADER.size :] != name or length != len(name) or method != entry.info.compress_type:
            raise Damaged("its header says otherwise than the archive's directory")
        start = entry.start + _HEADER.size + length + extra
        if start + entry.info.compress_size > entry.end:
            raise Damaged("it reaches into what follows")
        return start


def _write_all(file: int, content: bytes) -> None:
    written = os.write(file, content)
    while written < len(content):
        written += os.write(file, memoryview(content)[written:])


def _shares(work: Sequence[_Work], workers: int) -> list[list[_Work]]:
    """Members in runs of about equal cost, the largest first: many more runs than workers."""

    def cost(each: _Work) -> int:
        return each.entry.info.file_size + (64 << 10)

    limit = max(1, sum(map(cost, work)) // (workers * 16))
    shares: list[tuple[int, list[_Work]]] = []
    share: list[_Work] = []
    size = 0
    for each in work:
        share.append(each)
        size += cost(each)
        if size >= limit:
            shares.append((size, share))
            share, size = [], 0
    if share:
        shares.append((size, share))
    return [share for _, share in sorted(shares, key=lambda pair: -pair[0])]
