"""Are prepared files what they should be? Sizes, our own hashes, the published md5."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.preparation import progress
from mlebench.preparation.files import walk


@dataclass(frozen=True)
class Mismatch:
    """A prepared file that is not what it should be."""

    path: str  # "public/train.csv"
    expected: str
    found: str  # "" if the file is missing


def verify(dataset: Dataset) -> list[Mismatch]:
    """Recompute all checksums: ours for every file, the published md5 where there are some.

    The published ones are compared unless the data are synthetic or of edition v2. Empty if all is well.
    """
    manifest = dataset.manifest()
    expected: dict[str, dict[str, Any]] = manifest["files"]
    found = checksums(dataset.prepared, [path for path in expected if (dataset.prepared / path).is_file()])
    wrong = [
        Mismatch(path, facts["blake3"], found[path]["blake3"] if path in found else "")
        for path, facts in expected.items()
        if path not in found or found[path]["blake3"] != facts["blake3"]
    ]
    extra = set(files_in(dataset.prepared)) - set(expected) - {"manifest.json"}
    wrong += [Mismatch(path, "", "a file that was not prepared") for path in sorted(extra)]
    if published_checksums(dataset):
        wrong += published_mismatches(dataset.competition, dataset.prepared)
    return wrong


def published_checksums(dataset: Dataset) -> dict[str, str]:
    """The md5 by path that the files must have: none if the data are synthetic or of edition v2."""
    manifest = dataset.manifest()
    if manifest["source"] == "synthetic" or manifest["edition"] != "v1":
        return {}
    return {path: md5 for path, md5 in dataset.competition.checksums.items() if path != "zip"}


def published_mismatches(competition: Competition, prepared: Path) -> list[Mismatch]:
    """Files whose md5 is not the published one."""
    import hashlib

    wrong = []
    for path, expected in competition.checksums.items():
        if path == "zip":
            continue
        file = prepared / path
        if not file.is_file():
            wrong.append(Mismatch(path, f"md5 {expected}", ""))
            continue
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "md5").hexdigest()
        if found != expected:
            wrong.append(Mismatch(path, f"md5 {expected}", f"md5 {found}"))
    return wrong


def files_in(prepared: Path) -> list[str]:
    """The paths of all files below `prepared`, in a fixed order."""
    return [path.relative_to(prepared).as_posix() for path in walk(prepared)]


def checksums(prepared: Path, paths: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size and blake3 of every file, computed in parallel."""
    from blake3 import blake3

    def facts(path: str) -> dict[str, Any]:
        file = prepared / path
        size = file.stat().st_size
        content = blake3(file.read_bytes()) if size < 1 << 20 else blake3().update_mmap(file)
        return {"size": size, "blake3": content.hexdigest()}

    paths = list(paths)
    return dict(zip(paths, progress.in_threads("computing checksums", facts, paths), strict=True))
