"""What an attempt left, fixed by hashes before it is graded, so that nothing can be changed afterwards unseen."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import mlebench
from mlebench.sandbox.collect import collect_submission

RECORDS = (
    "instructions.txt",
    "prompt.txt",
    "description.md",
    "output.txt",
    "validations.jsonl",
    "scores.jsonl",
    "gateway.jsonl",
    "telemetry.jsonl",
)
TREES = ("submission", "code", "logs", "snapshots", "earlier")
MAX_PATH = 2000  # bytes below the folder: an agent may nest folders as deep as it likes
LARGE = 64 << 20
BLOCK = 1 << 20
SOURCES = (".py", ".toml", ".md", ".sh", ".lock", ".json", ".csv")


def seal(attempt: Path) -> dict[str, Any]:
    """SHA-256, size and time of the submission (None if there is none), and hashes of all else that is on record.

    To be called once the sandbox is gone. `trees` holds BLAKE3 digests of whole folders, see `tree_digest`.
    """
    submission = collect_submission(attempt / "submission")
    return {
        "sealed": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "submission": None if submission is None else _facts(submission),
        "run.json": file_sha256(attempt.parents[1] / "run.json"),
        "records": {name: file_sha256(attempt / name) for name in RECORDS if (attempt / name).is_file()},
        "trees": {name: tree_digest(attempt / name) for name in TREES if (attempt / name).is_dir()},
    }


def _facts(path: Path) -> dict[str, Any]:
    state = path.stat()
    changed = datetime.fromtimestamp(state.st_mtime, UTC).isoformat(timespec="seconds")
    return {"sha256": file_sha256(path), "bytes": state.st_size, "changed": changed}


def file_sha256(path: Path) -> str:
    """The SHA-256 of a plain file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_digest(folder: Path, suffixes: tuple[str, ...] | None = None, without: Collection[str] = ()) -> str:
    """One BLAKE3 digest of all names below `folder`, what is in the files, and where links point to.

    Links are not followed; rights, times and holes don't count, nor does what lies below a path of `MAX_PATH` bytes.
    With `suffixes`, only files that end so; `without` the files at these paths below `folder`.
    """
    from blake3 import blake3

    whole = blake3()
    for path in map(Path, sorted(_entries(folder), key=os.fsencode)):
        state = path.lstat()
        if path.relative_to(folder).as_posix() in without:
            continue
        if suffixes is not None and (path.suffix not in suffixes or not stat.S_ISREG(state.st_mode)):
            continue
        if stat.S_ISREG(state.st_mode):
            content = _content_digest(path, state.st_size)
        elif stat.S_ISLNK(state.st_mode):
            content = os.fsencode(path.readlink())
        else:
            content = b""
        name = os.fsencode(path.relative_to(folder))
        kind = stat.S_IFMT(state.st_mode)
        whole.update(f"{kind} {len(name)} {len(content)} ".encode() + name + content)
    return whole.hexdigest()


def _content_digest(path: Path, size: int) -> bytes:
    """Of a large file that of its blocks which are not empty, for terabytes of holes cost nothing to make."""
    from blake3 import blake3

    if size == 0:
        return b""
    if size < LARGE:
        return blake3(max_threads=blake3.AUTO).update_mmap(path).digest()
    whole = blake3(f"{size} ".encode())
    with path.open("rb", buffering=0) as file:
        place = _next_block(file.fileno(), 0)
        while place is not None:
            file.seek(place)
            block = file.read(BLOCK)
            if block != bytes(len(block)):
                whole.update(f"{place} {len(block)} ".encode() + block)
            place = _next_block(file.fileno(), place + BLOCK)
    return whole.digest()


def _next_block(handle: int, place: int) -> int | None:
    """Where the first block begins that has data at `place` or behind it; None if there is none."""
    try:
        if sys.platform == "linux":
            place = os.lseek(handle, place, os.SEEK_DATA)
        return place // BLOCK * BLOCK if place < os.fstat(handle).st_size else None
    except OSError as error:
        if error.errno == errno.ENXIO:  # only holes are left
            return None
        raise


def _entries(folder: Path) -> list[str]:
    """As texts: there may be millions."""
    found: list[str] = []
    top = len(os.fsencode(folder))
    for at, folders, files in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        found += [f"{at}/{name}" for name in (*folders, *files)]
        if len(os.fsencode(at)) - top > MAX_PATH:  # the kernel takes no path of more than 4,095 bytes
            folders.clear()
    return found


@cache
def mlebench_digest() -> str:
    """The digest of this package's own code and facts."""
    return tree_digest(Path(mlebench.__file__).parent, SOURCES)
