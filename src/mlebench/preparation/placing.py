"""Placing files without a second copy on disk: reflink, else hard link, else copy; and which files a folder has.

There are competitions of a million files: what is done for each of them is done on plain texts, because a `Path`
costs several times what the system takes to make a link.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlebench.errors import PreparationError
from mlebench.preparation import progress

_FICLONE = 0x40049409
_SHARE = 256  # files that one thread takes at once

Pair = tuple[str, str]  # source and target


def link_files(files: Iterable[tuple[Path, Path]], text: str = "placing files") -> None:
    """Place the source of each pair (source, target) at its target: reflink, else hard link, else copy; in parallel.

    Raises PreparationError that names the first missing source files.
    """
    pairs = [(os.fspath(source), os.fspath(target)) for source, target in files]
    missing = [source for source, _ in pairs if not os.path.isfile(source)]  # noqa: PTH113, for speed
    if missing:
        shown = ", ".join(Path(source).name for source in missing[:3])
        raise PreparationError(
            f"{len(missing):,} of {len(pairs):,} files are missing in {Path(missing[0]).parent}: {shown} …"
        )
    for parent in {target.rpartition("/")[0] for _, target in pairs}:
        Path(parent).mkdir(parents=True, exist_ok=True)
    for_each(pairs, lambda pair: _link(*pair), text)


def link_folder(source: Path, target: Path, text: str = "placing files") -> None:
    """Place every file below `source` at the same place below `target`."""
    if not source.is_dir():
        raise PreparationError(f"the folder {source.name} is missing in {source.parent}")
    link_files(((path, target / path.relative_to(source)) for path in walk(source)), text)


def for_each(items: Sequence[Pair], work: Callable[[Pair], None], text: str) -> None:
    """Do `work` with all items, in threads, shown as a step; the first failure or an interruption ends it."""
    shares = [items[start : start + _SHARE] for start in range(0, len(items), _SHARE)]

    def do(share: Sequence[Pair]) -> int:
        for item in share:
            work(item)
        return len(share)

    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 16))
    try:
        with progress.step(text, len(items), "files") as done:
            for count in pool.map(do, shares):
                done(count)
    finally:
        pool.shutdown(cancel_futures=True)


def paths_in(folder: Path) -> Iterator[str]:
    """The paths of all files below `folder`, also behind links, relative to it, in a fixed order."""
    start = len(os.fspath(folder)) + 1
    for directory, names, files in os.walk(folder, followlinks=True):
        names.sort()
        before = f"{directory[start:]}/" if len(directory) > start else ""
        yield from (before + name for name in sorted(files))


def walk(folder: Path) -> Iterable[Path]:
    """All files below `folder`, also behind links, in a fixed order."""
    return (folder / path for path in paths_in(folder))


def link_file(source: Path, target: Path) -> None:
    """Place one file: reflink, else hard link, else copy. The parent of `target` must exist.

    A hard link needs both on one file system, one that has them, and fewer links to the file than it allows. A file
    that others can't read is copied: agents run as another user, and a link would share its rights. `source` itself
    is never changed and may be read-only. Raises PreparationError if a file is there already: what is written to a
    link changes the raw file as well.
    """
    _link(os.fspath(source), os.fspath(target))


def copy_file(source: Path | str, target: Path | str) -> None:
    """Place a file of its own with the content of `source`; the file system may let both share their blocks."""
    source, target = os.fspath(source), os.fspath(target)
    if not _reflink(source, target):
        shutil.copyfile(source, target)


def _link(source: str, target: str) -> None:
    if os.path.lexists(target):  # also where a copy would be made over it
        parent, _, name = target.rpartition("/")
        raise PreparationError(f"two files of the raw data would be placed at {Path(parent).name}/{name}")
    facts = os.lstat(source)
    if stat.S_ISLNK(facts.st_mode):  # a link to it would be a link to the link
        source = os.path.realpath(source)
        facts = os.stat(source)  # noqa: PTH116, for speed
    if not facts.st_mode & stat.S_IROTH:
        shutil.copyfile(source, target)
        return
    if _reflink(source, target, facts.st_dev):
        return
    try:
        os.link(source, target)
    except FileExistsError:  # placed by another thread in between
        raise
    except OSError:
        shutil.copyfile(source, target)


def _reflink(source: str, target: str, device: int | None = None) -> bool:
    """Share the blocks of `source`, which is on `device` (btrfs, xfs); False if the file system can't."""
    if sys.platform != "linux":
        return False
    parent = os.stat(target.rpartition("/")[0] or ".")  # noqa: PTH116, for speed
    devices = os.stat(source).st_dev if device is None else device, parent.st_dev  # noqa: PTH116
    if devices in _NO_REFLINK:
        return False
    with Path(source).open("rb") as original, Path(target).open("xb") as clone:
        try:
            fcntl.ioctl(clone.fileno(), _FICLONE, original.fileno())
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                _NO_REFLINK.add(devices)
        else:
            return True
    Path(target).unlink()
    return False


_NO_REFLINK: set[tuple[int, int]] = set()  # devices of source and target that refused once
