"""What every preparation ends with: origins hidden, identical files stored once, the manifest written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench import __version__
from mlebench.competition import Competition
from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import InvalidSubmission, PreparationError
from mlebench.files import write_json, write_text
from mlebench.preparation.origins import hide_origins, is_for_testing
from mlebench.preparation.verification import checksums, files_in

Kind = tuple[str, bool, str]
"""Side (public or private), whether it is a test file, hash: files that agree in all may be one file on disk."""


def complete(dataset: Dataset, prepared: Path, source: Mapping[str, Any]) -> None:
    """Turn prepared files in the folder `prepared` into a whole data set; `source` says where they came from.

    Raises PreparationError if the sample submission is invalid.
    """
    competition = dataset.competition
    write_text(prepared / "public" / "description.md", competition.named_description)
    hide_origins(prepared / "public")
    files = checksums(prepared, files_in(prepared))
    _store_once(prepared, files, _of_the_other_edition(dataset))
    write_manifest(competition, prepared, source, files)


def write_manifest(
    competition: Competition, prepared: Path, source: Mapping[str, Any], files: Mapping[str, Any]
) -> None:
    """Write manifest.json: where the data came from, every file's size and hash, the sample's score."""
    dataset = Unplaced(competition, prepared)
    manifest = {
        "competition": competition.id,
        "edition": dataset.revision,
        **source,
        "mlebench": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "sample_score": _sample_score(dataset),
        "hash": "blake3",
        "files": files,
    }
    write_json(prepared / "manifest.json", manifest)


class Unplaced(Dataset):
    """A data set that stands where `prepared` says, not yet or not at all in a data directory."""

    def __init__(self, competition: Competition, prepared: Path) -> None:
        super().__init__(competition, prepared)

    @property
    def prepared(self) -> Path:
        """The folder given."""
        return self.data_dir


def _store_once(prepared: Path, files: Mapping[str, Any], elsewhere: Mapping[Kind, Path]) -> None:
    """Files with the same content become links to one, here or among those `elsewhere`.

    The two sides never share a file, nor do test files and others: a test file that were the same file as one of the
    other kind would have its inode number and times again, which follow the order of the raw files (see `origins`).
    """
    seen = dict(elsewhere)
    for path, kind in _kinds(files):
        if kind not in seen:
            seen[kind] = prepared / path
        elif files[path]["size"]:
            _replace_by_link(prepared / path, seen[kind])


def _replace_by_link(file: Path, original: Path) -> None:
    if file.samefile(original):
        return
    link = file.with_name(f".{file.name}.link")
    with suppress(OSError):  # another file system, one without links, or too many of them: both copies stay
        os.link(original, link)
        link.replace(file)


def _kinds(files: Mapping[str, Any]) -> Iterator[tuple[str, Kind]]:
    for path, facts in files.items():
        side, _, rest = path.partition("/")
        yield path, (side, is_for_testing(rest), facts["blake3"])


def _of_the_other_edition(dataset: Dataset) -> dict[Kind, Path]:
    """The files of the other edition in the same data directory, by kind."""
    competition = dataset.competition
    other = Dataset(competition.in_edition("v1" if competition.edition == "v2" else "v2"), dataset.data_dir)
    if not competition.differs_in_v2 or not other.is_prepared:
        return {}
    return {kind: other.prepared / path for path, kind in _kinds(read_manifest(other.prepared)["files"])}


def _sample_score(dataset: Dataset) -> float | None:
    """The score of the sample submission; None if it is valid and its score undefined.

    Raises PreparationError if it is invalid: no agent could hand in anything then.
    """
    from mlebench.grading import score_valid, validate_submission

    validation = validate_submission(dataset.sample_submission, dataset)
    if validation.table is None:
        raise PreparationError(f"{dataset.competition.id}: the sample submission is invalid: {validation.message()}")
    try:
        return score_valid(validation.table, dataset)
    except InvalidSubmission:
        return None
