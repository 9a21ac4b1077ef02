"""One competition on its way through the pipeline: where its files come from, how large they are, what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlebench.dataset import Dataset
from mlebench.preparation.disk.sizes import Needs, needs
from mlebench.preparation.pipeline.worker import Worker
from mlebench.preparation.sources import Downloading, Keep, Source, holds_strangers_files, is_prepared_from


@dataclass(frozen=True)
class Task:
    """One competition to prepare; each may be named once."""

    dataset: Dataset
    source: str = "kaggle"
    rows: int | None = None
    seed: int = 0
    keep: Keep = "nothing"
    force: bool = False
    verify: bool = False

    @property
    def name(self) -> str:
        """The competition's id."""
        return self.dataset.competition.id


@dataclass(eq=False)
class Job:
    """One task on its way."""

    task: Task
    source: Source
    stage: str  # download, downloading, prepare, preparing, done
    is_there: bool = False  # and only to be verified
    needs: Needs | None = None  # None: nothing is known, or it takes next to nothing
    is_size_told: bool = False  # by Kaggle or a zip that is here
    begun: int = 0  # bytes of its download that are there
    worker: Worker | None = None

    @property
    def name(self) -> str:
        """The competition's id."""
        return self.task.name

    @property
    def size(self) -> int:
        """Of its download or, where nothing is known of that, its data."""
        return (self.needs.download or self.needs.peak) if self.needs else 0

    @property
    def to_come(self) -> int:
        """Bytes, by which those that wait are sorted."""
        return self.size - (self.begun if self.stage == "download" else 0)

    @property
    def still_needs(self) -> Needs:
        """Without what is here of the download."""
        if self.needs is None:
            return Needs(0, 0, 0, "unknown")
        here = self.begun if self.stage in ("download", "downloading") else self.needs.download
        return replace(self.needs, download=self.needs.download - here, peak=self.needs.peak - here)

    @property
    def is_under_way(self) -> bool:
        """Whether somebody works on it."""
        return self.stage in ("downloading", "preparing")

    def order(self) -> dict[str, Any]:
        """What a worker is told."""
        task, competition = self.task, self.task.dataset.competition
        return {
            "folder": str(competition.folder),
            "edition": competition.edition,
            "data_dir": str(task.dataset.data_dir),
            "source": task.source,
            "rows": task.rows,
            "seed": task.seed,
            "keep": task.keep,
            "force": task.force,
            "verify": task.verify,
            # Of what is there, the engine clears away what a killed call left, if it is from this source.
            "prepare": not self.is_there or task.dataset.source == self.source.name,
        }


def is_there(task: Task, source: Source) -> bool:
    """Whether it is prepared; whatever from, if nothing else than the usual source is asked for.

    Raises PreparationError if it is from another source than the one asked for.
    """
    if task.source == "kaggle":
        return task.dataset.is_prepared
    return is_prepared_from(task.dataset, source)


def job_of(task: Task, source: Source, is_there: bool) -> Job:
    """What there is to do, as far as can be seen without asking Kaggle."""
    if is_there or (not task.force and holds_strangers_files(task.dataset)):  # these are taken over, or refused
        return Job(task, source, "prepare", is_there)
    size = _size_here(task)
    if task.source == "kaggle" or size is not None:
        stage = "download" if size is None else "prepare"
        found = needs_of(task, size)
        if found and _is_unpacked(task):
            found = replace(found, peak=found.download + found.final)
        return Job(task, source, stage, needs=found, is_size_told=size is not None, begun=_begun(task))
    return Job(task, source, "download" if isinstance(source, Downloading) else "prepare")


def _size_here(task: Task) -> int | None:
    """The size of the archive (or of the single files in its place) that is here already and plain to see."""
    if task.source == "kaggle":
        from mlebench.preparation.kaggle.source import Kaggle

        return Kaggle(task.dataset.data_dir).bytes_here(task.dataset.competition)
    name, given = f"{task.name}.zip", Path(task.source).expanduser()
    archives = [given, given / name, given / task.name / name]
    return next((archive.stat().st_size for archive in archives if archive.is_file()), None)


def _is_unpacked(task: Task) -> bool:
    """Whether raw files are here already, which an earlier preparation kept."""
    if task.source != "kaggle":
        return False
    from mlebench.preparation.kaggle.source import Kaggle

    return Kaggle(task.dataset.data_dir).is_unpacked(task.dataset.competition)


def _begun(task: Task) -> int:
    """The bytes that an interrupted download has left."""
    from mlebench.preparation.kaggle.download import begun_bytes

    return begun_bytes(task.dataset.home / f"{task.name}.zip") if task.source == "kaggle" else 0


def needs_of(task: Task, download_bytes: int | None) -> Needs | None:
    """What it takes on disk, if `download_bytes` is the size of its archive; None if nothing is known of any size."""
    usual = needs(task.dataset.competition, None, task.keep)
    if download_bytes is None:
        return usual if usual.peak else None
    if usual.download < 10 * download_bytes:
        return needs(task.dataset.competition, download_bytes, task.keep)
    # A small part of what is listed: the listed size is not that of these files.
    share = download_bytes / usual.download
    return Needs(download_bytes, int(usual.peak * share), int(usual.final * share), "download")


def together(each: Sequence[Needs], at_once: int) -> Needs:
    """In the worst order: the largest ones last, when all others are there already."""
    final = sum(one.final for one in each)
    on_top = sorted((one.peak - one.final for one in each), reverse=True)[:at_once]
    basis = "download" if all(one.basis == "download" for one in each) else "estimated"
    return Needs(sum(one.download for one in each), final + sum(on_top), final, basis)
