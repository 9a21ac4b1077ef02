"""Hashes of many files: in parallel, each inode once, in little memory however large the files are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from mlebench.preparation import progress

StrPath = str | os.PathLike[str]  # texts where there are millions

_BLOCK = 4 << 20
_SMALL = 1 << 20  # a file of this size is read at once
_LARGE = 256 << 20  # a file of this size is hashed by all processors together
_FILES_OF_A_SHARE, _BYTES_OF_A_SHARE = 256, 64 << 20


class Digest(NamedTuple):
    """A file's content: its size and hashes, in hexadecimal digits."""

    size: int
    blake3: str
    md5: str = ""  # where it was asked for


class _Work(NamedTuple):
    path: StrPath
    size: int
    needs_md5: bool


def digests(
    files: Mapping[str, StrPath], needs_md5: Collection[str] = (), text: str = "computing checksums"
) -> dict[str, Digest | OSError]:
    """The digest of each file, by the names that `files` gives them; the error of what can't be read.

    Files are read, not mapped: a bad disk is then an error, and not the end of the process.
    """
    found: dict[str, Digest | OSError] = {}
    names: dict[tuple[int, int], list[str]] = {}
    work: dict[tuple[int, int], _Work] = {}
    for name, path in files.items():
        try:
            facts = os.stat(path)  # noqa: PTH116, for speed
        except OSError as error:
            found[name] = error
            continue
        key = (facts.st_dev, facts.st_ino)
        names.setdefault(key, []).append(name)
        work[key] = _Work(path, facts.st_size, name in needs_md5 or (key in work and work[key].needs_md5))
    results = _all_digests(list(work.values()), text)
    for same, result in zip(names.values(), results, strict=True):
        found.update(dict.fromkeys(same, result))
    return {name: found[name] for name in files}


def _all_digests(work: Sequence[_Work], text: str) -> Iterator[Digest | OSError]:
    total = sum(one.size for one in work)
    with progress.step(text, total, "B") as done, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for share in pool.map(lambda share: _digests_of_share(share, done), list(_shares(work))):
            yield from share


def _shares(work: Sequence[_Work]) -> Iterator[list[_Work]]:
    """Files in runs, so that a million small ones are no million tasks."""
    share: list[_Work] = []
    size = 0
    for one in work:
        share.append(one)
        size += one.size
        if len(share) >= _FILES_OF_A_SHARE or size >= _BYTES_OF_A_SHARE:
            yield share
            share, size = [], 0
    if share:
        yield share


def _digests_of_share(share: Sequence[_Work], done: progress.Step) -> list[Digest | OSError]:
    results: list[Digest | OSError] = []
    small = 0  # bytes that are not told yet
    for one in share:
        try:
            results.append(_digest(one, done if one.size > _BLOCK else None))
        except OSError as error:
            results.append(error)
        small += one.size if one.size <= _BLOCK else 0
    done(small)
    return results


def _digest(work: _Work, done: progress.Step | None) -> Digest:
    from blake3 import blake3

    if work.size <= _SMALL and not work.needs_md5:
        with open(work.path, "rb", buffering=0) as file:  # noqa: PTH123, for speed
            content = file.read()
        return Digest(len(content), blake3(content).hexdigest())
    whole = blake3(max_threads=blake3.AUTO if work.size >= _LARGE else 1)
    md5 = hashlib.md5(usedforsecurity=False) if work.needs_md5 else None
    size = 0
    for block in blocks(work.path, min(_BLOCK, work.size + 1)):
        whole.update(block)
        if md5:
            md5.update(block)
        size += len(block)
        if done:
            done(len(block))
    return Digest(size, whole.hexdigest(), md5.hexdigest() if md5 else "")


def blocks(path: StrPath, size: int = _BLOCK) -> Iterator[memoryview]:
    """The file's content in blocks of at most `size` bytes; each is overwritten by the next."""
    buffer = memoryview(bytearray(size))
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123, for speed
        while count := file.readinto(buffer):
            yield buffer[:count]
