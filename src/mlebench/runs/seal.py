"""What an attempt left, fixed by hashes before it is graded, so that nothing can be changed afterwards unseen."""

from __future__ import annotations

import hashlib
import os
import stat
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
    "output.txt",
    "validations.jsonl",
    "scores.jsonl",
    "gateway.jsonl",
    "telemetry.jsonl",
)
TREES = ("submission", "code", "logs", "snapshots", "earlier")
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

    Links are not followed; rights and times don't count. With `suffixes`, only files that end so; `without` the
    files at these paths below `folder`.
    """
    from blake3 import blake3

    whole = blake3()
    for path in sorted(_entries(folder), key=os.fsencode):
        state = path.lstat()
        if path.relative_to(folder).as_posix() in without:
            continue
        if suffixes is not None and (path.suffix not in suffixes or not stat.S_ISREG(state.st_mode)):
            continue
        if stat.S_ISREG(state.st_mode):
            content = blake3(max_threads=blake3.AUTO).update_mmap(path).digest() if state.st_size else b""
        elif stat.S_ISLNK(state.st_mode):
            content = os.fsencode(path.readlink())
        else:
            content = b""
        name = os.fsencode(path.relative_to(folder))
        kind = stat.S_IFMT(state.st_mode)
        whole.update(f"{kind} {len(name)} {len(content)} ".encode() + name + content)
    return whole.hexdigest()


def _entries(folder: Path) -> list[Path]:
    found: list[Path] = []
    for at, folders, files in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        found += [Path(at, name) for name in (*folders, *files)]
    return found


@cache
def mlebench_digest() -> str:
    """The digest of this package's own code and facts."""
    return tree_digest(Path(mlebench.__file__).parent, SOURCES)
