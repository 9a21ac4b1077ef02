"""What the data take on disk, by competition and by kind: blocks, each inode once.

Files are linked wherever the file system can, so that adding up sizes says too much. A file with several names counts
where it is met first, in the order of `KINDS`. Blocks that two files share (reflinks on btrfs and xfs) can't be seen
and count twice.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mlebench.errors import UsageError
from mlebench.preparation import progress
from mlebench.preparation.layout import FETCHING, LOCK, ORIGIN, PLAN, RAW_RECORD, WORK

KINDS = {
    "prepared": "prepared files, edition v1",
    "prepared-v2": "prepared files, edition v2",
    "raw": "raw files that were kept",
    "zip": "archives and single files, downloaded or the user's own",
    "partial": "downloads and extractions that were interrupted and can go on",
    "work": "folders in which preparations work, or in which killed ones did",
    "pages": "original pages, notebooks and leaderboards",
    "other": "whatever else is there",
}
OF_WORK = (WORK, *(f".{name}." for name in (PLAN, ORIGIN, RAW_RECORD)))  # how leftovers of killed processes begin
_PAGES = {"pages", "notebooks", "leaderboard.csv", "leaderboard.json"}
_ARCHIVES = (".zip", ".7z", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_BLOCK = 512  # what st_blocks counts, everywhere


@dataclass(frozen=True)
class Use:
    """What one competition takes: bytes by kind, none of which is 0."""

    competition: str
    kinds: dict[str, int]
    files: int
    saved: int  # bytes that separate copies would take on top

    @property
    def total(self) -> int:
        """All its bytes."""
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Usage:
    """What a data directory takes, the largest competition first."""

    data_dir: Path
    competitions: tuple[Use, ...]
    free: int  # bytes on this disk

    @property
    def kinds(self) -> dict[str, int]:
        """The bytes of all competitions by kind."""
        found: Counter[str] = Counter()
        for use in self.competitions:
            found.update(use.kinds)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(use.total for use in self.competitions)

    @property
    def saved(self) -> int:
        """Bytes that separate copies would take on top."""
        return sum(use.saved for use in self.competitions)


def usage(data_dir: Path, ids: Collection[str] = ()) -> Usage:
    """What the competitions in `data_dir` take, or those of `ids` alone. Changes nothing.

    Raises UsageError if there is no such folder, or nothing of a competition that is named.
    """
    found = homes(data_dir, ids)
    with progress.step("counting", len(found), "competitions") as done:
        uses = []
        for home in found:
            uses.append(use_of(home))
            done()
    uses.sort(key=lambda use: (-use.total, use.competition))
    return Usage(data_dir, tuple(uses), shutil.disk_usage(data_dir).free)


def homes(data_dir: Path, ids: Collection[str] = ()) -> list[Path]:
    """The folders of competitions in `data_dir`, or of those named: all that hold something which we know.

    Raises UsageError as `usage`.
    """
    if not data_dir.is_dir():
        raise UsageError(f"there is no data directory {data_dir}; --data-dir or MLEBENCH_DATA_DIR names another")
    found = [path for path in sorted(data_dir.iterdir()) if path.is_dir() and _is_home(path)]
    if missing := set(ids) - {path.name for path in found}:
        raise UsageError(f"nothing of {', '.join(sorted(missing))} is in {data_dir}")
    return [path for path in found if not ids or path.name in ids]


def kind_of(name: str, competition_id: str) -> str:
    """The kind of an entry of this name in a competition's folder."""
    if name in ("prepared", "prepared-v2"):
        return name
    if name in ("raw", RAW_RECORD):
        return "raw"
    if name in (FETCHING, ORIGIN) or name.endswith((".part", ".part.json")):
        return "partial"
    if name in (LOCK, PLAN) or name.startswith(OF_WORK) or name.endswith(".lock"):
        return "work"
    if name in _PAGES:
        return "pages"
    bare = name.removeprefix(".").removesuffix(".json").removesuffix(".md5")
    if bare in {f"{competition_id}{ending}" for ending in (*_ARCHIVES, ".files")}:
        return "zip"
    return "other"


def _is_home(folder: Path) -> bool:
    try:
        return any(kind_of(entry.name, folder.name) != "other" for entry in folder.iterdir())
    except PermissionError:
        return False


def use_of(home: Path) -> Use:
    """What one competition's folder takes."""
    count = _Count()
    entries = {entry.name: entry for entry in os.scandir(home)}
    order = list(KINDS)
    for name in sorted(entries, key=lambda name: (order.index(kind_of(name, home.name)), name)):
        count.add(entries[name], kind_of(name, home.name))
    kinds = {kind: count.bytes[kind] for kind in KINDS if count.bytes[kind]}
    return Use(home.name, kinds, count.files, count.saved)


@dataclass
class _Count:
    bytes: Counter[str] = field(default_factory=Counter)
    files: int = 0
    saved: int = 0
    _seen: set[tuple[int, int]] = field(default_factory=set)  # inodes that have further names

    def add(self, entry: os.DirEntry[str], kind: str) -> None:
        """Count a file, or a folder with all below; what is behind symbolic links is not here."""
        for each in _below(entry):
            facts = each.stat(follow_symlinks=False)
            size = facts.st_blocks * _BLOCK
            is_folder = each.is_dir(follow_symlinks=False)
            self.files += not is_folder
            if facts.st_nlink > 1 and not is_folder:
                inode = (facts.st_dev, facts.st_ino)
                if inode in self._seen:
                    self.saved += size
                    continue
                self._seen.add(inode)
            self.bytes["partial" if each.name.endswith(".part") else kind] += size


def _below(entry: os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    """The entry and all below it. What vanishes meanwhile, as a preparation goes on, is left out."""
    yield entry
    if entry.is_dir(follow_symlinks=False):
        try:
            with os.scandir(entry) as entries:
                for each in entries:
                    yield from _below(each)
        except (FileNotFoundError, PermissionError):
            return


def freed_in_turn(groups: Iterable[Iterable[Path]]) -> list[int]:
    """The bytes that are free after removing each group of files and folders, when those before are gone.

    A file's bytes are free with the last of its names; not at all if one stays.
    """
    left: dict[tuple[int, int], int] = {}  # names of an inode that stay
    freed = []
    for group in groups:
        total = 0
        for entry in (entry for path in group for entry in _entries(path)):
            facts = entry.stat(follow_symlinks=False)
            inode = (facts.st_dev, facts.st_ino)
            names = 1 if entry.is_dir(follow_symlinks=False) else facts.st_nlink
            left[inode] = left.get(inode, names) - 1
            if not left[inode]:
                total += facts.st_blocks * _BLOCK
        freed.append(total)
    return freed


def _entries(path: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(path.parent) as entries:
        own = next((entry for entry in entries if entry.name == path.name), None)
    if own is not None:
        yield from _below(own)
