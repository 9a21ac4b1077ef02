"""Removing from a data directory what is not needed: garbage without being asked, all else only by its name.

Whoever works in a competition's folder holds its lock; nothing is touched there then. What is removed disappears at
once, by a rename, so that a killed call leaves nothing half removed that looks whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mlebench.errors import PreparationError
from mlebench.preparation.commit import recover, throw_away_fetched
from mlebench.preparation.disk import OF_WORK, freed_in_turn, homes, kind_of
from mlebench.preparation.kaggle import records
from mlebench.preparation.layout import FETCHING, LOCK, ORIGIN, PLAN, RAW_RECORD, WORK
from mlebench.preparation.locks import held_if_free


@dataclass(frozen=True)
class Wanted:
    """What is to be removed beside garbage."""

    zips: bool = False  # that were downloaded here and are prepared
    raw: bool = False  # kept beside prepared files
    partial: bool = False  # interrupted downloads and extractions
    everything: bool = False  # with `zips` and `raw`: those of competitions that are not prepared, and users' own
    prepared: Collection[str] = ()  # ids whose prepared files go, in both editions


@dataclass(frozen=True)
class Removal:
    """One thing that is removed, and the bytes that are free then."""

    competition: str
    kind: str  # of `disk.KINDS`
    path: Path
    bytes: int


@dataclass(frozen=True)
class Spared:
    """One thing that was asked for and stays, and why."""

    competition: str
    path: Path
    reason: str


@dataclass
class Cleaning:
    """What a call did, or would do."""

    removed: list[Removal] = field(default_factory=list)
    spared: list[Spared] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """All that is freed."""
        return sum(removal.bytes for removal in self.removed)


def clean(data_dir: Path, wanted: Wanted, ids: Collection[str] = (), *, dry_run: bool = False) -> Cleaning:
    """Remove garbage and what is `wanted`, of all competitions or those of `ids`; with `dry_run` only tell.

    Raises UsageError if there is no such folder or nothing of a competition that is named, PreparationError if
    something can't be removed.
    """
    result = Cleaning()
    homes(data_dir, {*ids, *wanted.prepared})  # all are there
    for home in homes(data_dir, ids or ()):
        spared = Cleaning()
        if not any(_paths(home, wanted, spared)) and not (home / PLAN).exists():
            result.spared += spared.spared
            continue
        try:
            with held_if_free(home / LOCK) as free:
                if free:
                    _clean(home, wanted, result, dry_run)
                else:
                    result.spared.append(Spared(home.name, home, "another process is preparing it"))
        except OSError as error:
            raise PreparationError(f"{error.filename or home} can't be removed: {error.strerror}") from error
    return result


def _clean(home: Path, wanted: Wanted, result: Cleaning, dry_run: bool) -> None:
    """Under the lock."""
    before = len(result.removed)
    going = list(_paths(home, wanted, result))
    freed = freed_in_turn([(path, *beside) for _, path, beside in going])
    for (kind, path, _), count in zip(going, freed, strict=True):
        result.removed.append(Removal(home.name, kind, path, count))
    if dry_run:
        return
    recover(home, lambda: _discard(home))
    for removal in result.removed[before:]:
        _remove(home, removal)


def _paths(home: Path, wanted: Wanted, result: Cleaning) -> Iterator[tuple[str, Path, tuple[Path, ...]]]:
    """Kind and path of what goes, with the small files that belong to it."""
    for path in sorted(home.iterdir()):
        if path.name.startswith(OF_WORK) and not _is_made(home, path):
            yield "work", path, ()
    is_prepared = any((home / name / "manifest.json").is_file() for name in ("prepared", "prepared-v2"))
    if wanted.raw and (home / "raw").exists():
        if is_prepared or wanted.everything:
            yield "raw", home / "raw", (home / RAW_RECORD,)
        else:
            result.spared.append(Spared(home.name, home / "raw", "nothing is prepared from it yet; --all removes it"))
    if wanted.zips:
        yield from _zips(home, is_prepared, wanted.everything, result)
    if wanted.partial:
        yield from _partial(home, result)
    if home.name in wanted.prepared:
        for name in ("prepared", "prepared-v2"):
            if (home / name).exists():
                yield "prepared", home / name, ()


def _is_made(home: Path, work: Path) -> bool:
    """Whether whole data lie in this folder, which only have to be put in their place: no garbage."""
    return (home / PLAN).exists() and (work / "prepared").is_dir()


def _zips(
    home: Path, is_prepared: bool, everything: bool, result: Cleaning
) -> Iterator[tuple[str, Path, tuple[Path, ...]]]:
    for path in sorted(home.iterdir()):
        if kind_of(path.name, home.name) != "zip" or path.suffix == ".json":
            continue
        is_ours = path.is_dir() or records.is_ours(path)
        if _is_coming(path):
            result.spared.append(Spared(home.name, path, "another process is downloading it"))
        elif everything or (is_ours and is_prepared):
            yield "zip", path, ()
        else:
            reason = "nothing is prepared from it yet" if is_ours else "it was not downloaded by mlebench"
            result.spared.append(Spared(home.name, path, f"{reason}; --all removes it"))


def _partial(home: Path, result: Cleaning) -> Iterator[tuple[str, Path, tuple[Path, ...]]]:
    if (home / FETCHING).exists():
        yield "partial", home / FETCHING, (home / ORIGIN,)
    for part in sorted([*home.glob("*.part"), *home.glob(f"{home.name}.files/**/*.part")]):
        if _is_coming(part.with_suffix("")):
            result.spared.append(Spared(home.name, part, "another process is downloading it"))
        else:
            yield "partial", part, (part.with_name(f"{part.name}.json"),)


def _is_coming(path: Path) -> bool:
    """Whether somebody downloads this file, or what belongs into this folder."""
    with held_if_free(_lock_of(path)) as free:
        return not free


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _remove(home: Path, removal: Removal) -> None:
    path = removal.path
    if removal.kind == "partial" and path.name == FETCHING:
        throw_away_fetched(home)
    elif removal.kind == "partial":
        _remove_part(path)
    elif removal.kind != "work":  # that is gone by now
        for record in (f"{path.name}.json", f".{path.name}.md5.json"):
            path.with_name(record).unlink(missing_ok=True)
        _remove_at_once(home, path)


def _remove_at_once(home: Path, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        doomed = home / f"{WORK}removed-{path.name}-{os.getpid()}"
        path.rename(doomed)
        shutil.rmtree(doomed)
    else:
        path.unlink(missing_ok=True)


def _remove_part(path: Path) -> None:
    """Unless a download goes on with it since."""
    with held_if_free(_lock_of(path.with_suffix(""))) as free:
        if free:
            path.unlink(missing_ok=True)
            path.with_name(f"{path.name}.json").unlink(missing_ok=True)


def _discard(home: Path) -> None:
    """The last step of a preparation that was killed in it: the download goes."""
    from mlebench import catalog
    from mlebench.preparation.kaggle.source import Kaggle

    if home.name in catalog.competitions():
        Kaggle(home.parent).discard(catalog.get(home.name))
