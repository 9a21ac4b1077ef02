"""Prepare one competition: whole or not at all.

Everything happens in a temporary folder beside the target, under a lock; the manifest is written last and the
folder renamed into place, so a preparation that fails or is killed leaves nothing that looks prepared.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from mlebench import __version__
from mlebench.competition import Competition
from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import CompetitionError, InvalidSubmission, MlebenchError, PreparationError
from mlebench.files import write_json
from mlebench.preparation import progress
from mlebench.preparation.origins import hide_origins
from mlebench.preparation.sources import Downloading, Keep, Source, discard, is_prepared_from
from mlebench.preparation.verification import checksums, files_in


def prepare(dataset: Dataset, source: Source, *, keep: Keep = "nothing", force: bool = False) -> bool:
    """Prepare the data of a competition from `source`; False if they were there already.

    `keep` is what stays beside the prepared files: "zip" what was downloaded, "raw" the raw files. Prepared data
    of another source are replaced only with `force`. Raises PreparationError if raw files are missing or damaged,
    CompetitionError if the competition's own code fails.
    """
    if not force and is_prepared_from(dataset, source):
        return False
    dataset.home.mkdir(parents=True, exist_ok=True)
    with FileLock(dataset.home / ".lock"):
        if dataset.is_prepared and not force:  # another process was faster
            return False
        _clear_leftovers(dataset)
        work = Path(tempfile.mkdtemp(prefix=".preparing-", dir=dataset.home))
        try:
            _prepare_in(work, dataset, source)
            _move_into_place(work, dataset, keep)
            if keep != "zip" and isinstance(source, Downloading):
                source.discard(dataset.competition)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return True


def _clear_leftovers(dataset: Dataset) -> None:
    """Remove what a killed preparation left behind."""
    for leftover in dataset.home.glob(".preparing-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _prepare_in(work: Path, dataset: Dataset, source: Source) -> None:
    competition = dataset.competition
    raw, prepared = work / "raw", work / "prepared"
    public, private = prepared / "public", prepared / "private"
    for folder in (raw, public, private):
        folder.mkdir(parents=True)
    with progress.step(f"{competition.id}: fetching raw files ({source.name})", 1):
        source.fetch(competition, raw)
    with progress.step(f"{competition.id}: preparing", 1):
        run_prepare(competition, raw, public, private)
    hide_origins(public)
    (public / "description.md").write_text(competition.named_description, encoding="utf-8")
    write_manifest(competition, prepared, source.describe())
    _share_files(prepared, dataset)


def run_prepare(competition: Competition, raw: Path, public: Path, private: Path) -> None:
    """Call the competition's `prepare`, naming the culprit of whatever goes wrong."""
    try:
        competition.prepare(raw=raw, public=public, private=private)
    except MlebenchError:
        raise
    except FileNotFoundError as error:
        missing = Path(str(error.filename))
        name = missing.relative_to(raw) if missing.is_relative_to(raw) else missing
        raise PreparationError(f"{competition.id}: the raw file {name} is missing") from error
    except KeyError as error:
        raise PreparationError(f"{competition.id}: a raw file lacks a column: {error.args[0]}") from error
    except (ValueError, OSError) as error:
        raise PreparationError(f"{competition.id}: the raw files can't be prepared: {error}") from error
    except Exception as error:
        raise CompetitionError(f"{competition.id}: prepare failed: {error!r}") from error


def write_manifest(competition: Competition, prepared: Path, source: dict[str, Any]) -> None:
    """Write manifest.json: where the data came from, every file's size and hash, the sample's score."""
    dataset = _Prepared(competition, prepared)
    files = checksums(prepared, files_in(prepared))
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


def _share_files(prepared: Path, dataset: Dataset) -> None:
    """Files that the other edition has too become links to those: they are stored once."""
    competition = dataset.competition
    other = Dataset(competition.in_edition("v1" if competition.edition == "v2" else "v2"), dataset.data_dir)
    if not competition.differs_in_v2 or not other.is_prepared:
        return
    there = {key: path for path, key in _contents(other.prepared)}
    for path, key in _contents(prepared):
        if key in there:
            link = prepared / f"{path}.link"
            with suppress(OSError):  # another file system, or too many links
                os.link(other.prepared / there[key], link)
                link.replace(prepared / path)


def _contents(prepared: Path) -> list[tuple[str, tuple[str, str]]]:
    """Each file's path, and its side (public or private) with its hash: the sides never share a file."""
    return [
        (path, (path.partition("/")[0], facts["blake3"])) for path, facts in read_manifest(prepared)["files"].items()
    ]


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


class _Prepared(Dataset):
    """A data set that stands where `prepared` says, before it is moved into place."""

    def __init__(self, competition: Competition, prepared: Path) -> None:
        super().__init__(competition, prepared)

    @property
    def prepared(self) -> Path:
        return self.data_dir


def _move_into_place(work: Path, dataset: Dataset, keep: Keep) -> None:
    if dataset.prepared.exists():
        dataset.prepared.rename(work / "replaced")
    (work / "prepared").rename(dataset.prepared)
    if keep == "raw" and not _leads_into(work / "raw", dataset.raw):
        discard(dataset.raw)
        (work / "raw").rename(dataset.raw)


def _leads_into(raw: Path, kept: Path) -> bool:
    """Whether `raw` is made of links to what is kept already."""
    return any(kept.resolve() in entry.resolve().parents for entry in raw.iterdir() if entry.is_symlink())
