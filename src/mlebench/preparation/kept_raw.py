"""Raw files that a preparation kept, and the record beside them: what they are, and what they were made from.

Without the record nobody knows whether they are whole. With it, they serve in the place of a download.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.competition import Competition
from mlebench.files import write_json
from mlebench.preparation.layout import RAW_RECORD, SCRATCH
from mlebench.preparation.verification import checksums, files_in
from mlebench.preparation.verification.hashing import Digest, digests


@dataclass(frozen=True)
class KeptRaw:
    """The raw files in a competition's folder that were kept, whole or not."""

    folder: Path
    recorded: str  # when, in UTC
    source: Mapping[str, Any]  # what the source said of them; empty if the preparation may have changed them
    files: Mapping[str, Mapping[str, Any]]  # size and blake3 of each
    is_damaged: bool  # found so by `find_damage`

    def is_whole(self) -> bool:
        """Whether these files are there and no others, each with its size. Nothing is read."""
        if self.is_damaged:
            return False
        there = {path for path in files_in(self.folder) if not path.startswith(f"{SCRATCH}/")}
        return there == set(self.files) and all(
            os.stat(self.folder / path).st_size == facts["size"]  # noqa: PTH116, for speed
            for path, facts in self.files.items()
        )

    def link_into(self, raw: Path) -> None:
        """Fill `raw` with links to them, which an earlier call may have made in part."""
        for entry in sorted(self.folder.absolute().iterdir()):
            link = raw / entry.name
            if entry.name != SCRATCH and not link.is_symlink():
                link.symlink_to(entry)


def kept_raw(home: Path) -> KeptRaw | None:
    """What is kept in a competition's folder; None if nothing is, or nothing that is on record."""
    folder = home / "raw"
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        content = json.loads((home / RAW_RECORD).read_text(encoding="utf-8"))
        files = {str(path): {"size": int(facts["size"]), **facts} for path, facts in content["files"].items()}
        source = dict(content.get("source", {}))
        if folder.is_dir() and not folder.is_symlink():
            return KeptRaw(folder, str(content["recorded"]), source, files, bool(content.get("damaged")))
    return None


def whole_raw_of(home: Path, source: str) -> KeptRaw | None:
    """What is kept, if it can stand in for the source of this name."""
    kept = kept_raw(home)
    return kept if kept and kept.source.get("source") == source and kept.is_whole() else None


def find_damage(home: Path, source: str) -> bool:
    """Read what is kept of the source of this name; whether it is no longer what it was, which is put on record."""
    kept = kept_raw(home)
    if not kept or kept.source.get("source") != source:
        return False
    if not kept.is_whole():
        return True
    found = digests({path: kept.folder / path for path in kept.files}, text="computing checksums of kept raw files")
    wrong = [path for path, facts in kept.files.items() if not _is(found[path], facts)]
    if wrong:
        path = home / RAW_RECORD
        write_json(path, json.loads(path.read_text(encoding="utf-8")) | {"damaged": wrong})
    return bool(wrong)


def _is(found: Digest | OSError, facts: Mapping[str, Any]) -> bool:
    return isinstance(found, Digest) and found.blake3 == facts["blake3"]


def source_facts(competition: Competition, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a record says of the source, if raw files are still as they came.

    Competitions of v1's form may change raw files in place.
    """
    return facts if type(competition) is Competition else {}


def record_raw(
    raw: Path, prepared: Path, made: Mapping[str, Mapping[str, Any]], source: Mapping[str, Any], record: Path
) -> None:
    """Write to `record` what the raw files are, for `source` says where they came from.

    `made` has size and blake3 of the files in `prepared`; raw files that are links to these are not read again.
    """
    known = {}
    for path, facts in made.items():
        status = (prepared / path).stat()
        known[status.st_dev, status.st_ino] = {"size": facts["size"], "blake3": facts["blake3"]}
    files: dict[str, dict[str, Any] | None] = {}
    for name in _names(raw):
        status = (raw / name).stat()
        files[name] = known.get((status.st_dev, status.st_ino))
    files |= checksums(raw, [name for name, facts in files.items() if facts is None], with_tables=False)
    recorded = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(record, {"hash": "blake3", "recorded": recorded, "source": source, "files": files})


def _names(raw: Path) -> Iterable[str]:
    return [name for name in files_in(raw) if not name.startswith(f"{SCRATCH}/")]
