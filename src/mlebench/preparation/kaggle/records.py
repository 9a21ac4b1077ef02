"""What is known of downloaded files: nothing is hashed twice, and a file of the user's is never taken for ours.

Beside a file that was downloaded here stands `<name>.json` with its size, time, md5 and origin. It is written before
the file gets its name, so that there is no moment in which a whole file is not known; and it is believed only while
size and time are the file's. What somebody else put there is remembered in `.<name>.md5.json`, which says nothing of
whose it is.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.files import write_json
from mlebench.preparation import progress

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Archive:
    """A file that is there, whole; `modified` is when its last byte was written, in UTC."""

    path: Path
    size: int
    md5: str
    modified: str


def describe(path: Path) -> Archive:
    """The facts about a file that is there, hashed only if it is not the one that was hashed before."""
    if is_ours(path):
        return archive(path, _read(_record(path))["md5"])
    _record(path).unlink(missing_ok=True)  # of another file, which stood here once
    memory = path.with_name(f".{path.name}.md5.json")
    if _is_of(memory, path):
        return archive(path, _read(memory)["md5"])
    found = archive(path, _md5(path))
    with suppress(OSError):  # a folder that can't be written to
        write_json(memory, _facts(path, found.md5))
    return found


def is_ours(path: Path) -> bool:
    """Whether this very file was downloaded here, and may be removed."""
    return _is_of(_record(path), path)


def write_record(target: Path, content: Path, md5: str, of: list[str]) -> None:
    """Remember that the file `content`, which will be renamed to `target`, was downloaded; `of` says what it is."""
    downloaded = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(_record(target), {**_facts(content, md5), "downloaded": downloaded, "of": of})


def keep(path: Path) -> None:
    """Remember that a file that was downloaded here is to stay; nothing happens to others, which stay anyway."""
    if is_ours(path) and not is_kept(path):
        write_json(_record(path), _read(_record(path)) | {"kept": True})


def is_kept(path: Path) -> bool:
    """Whether it was downloaded here and is to stay."""
    return is_ours(path) and _read(_record(path)).get("kept") is True


def remove(path: Path) -> int:
    """Remove the file and its record if it was downloaded here and isn't kept; returns the number of bytes freed."""
    if is_kept(path):
        return 0
    if not is_ours(path):
        if not path.exists():  # a process was killed in between here
            _record(path).unlink(missing_ok=True)
        return 0
    freed = freed_by(path)
    path.unlink()
    _record(path).unlink()
    return freed


def freed_by(path: Path) -> int:
    """The bytes that are free when the file is removed: none if it has other names."""
    facts = path.stat()
    return facts.st_size if facts.st_nlink == 1 else 0


def archive(path: Path, md5: str) -> Archive:
    """The facts about a file whose md5 is known."""
    facts = path.stat()
    when = datetime.fromtimestamp(facts.st_mtime, UTC).isoformat(timespec="seconds")
    return Archive(path, facts.st_size, md5, when)


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _facts(path: Path, md5: str) -> dict[str, Any]:
    facts = path.stat()
    return {"md5": md5, "size": facts.st_size, "modified": facts.st_mtime_ns}


def _read(record: Path) -> dict[str, Any]:
    """What a record says; nothing if there is none or it is damaged."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_of(record: Path, path: Path) -> bool:
    said = _read(record)
    return path.is_file() and isinstance(said.get("md5"), str) and _facts(path, said["md5"]).items() <= said.items()


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file, progress.step(f"hashing {path.name}", path.stat().st_size, "B") as done:
        while block := file.read(_BLOCK):
            digest.update(block)
            done(len(block))
    return digest.hexdigest()
