"""The folders that an agent writes to: measuring them, giving them back to us, removing them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SLICE = 2000  # directory entries counted between two looks at the clock


@dataclass
class DiskUse:
    """Bytes and files on disk below some folders; `whole` is False if a folder could not be looked into."""

    size: int = 0
    files: int = 0
    whole: bool = True


def measure_on_and_on(folders: Sequence[Path]) -> Iterator[DiskUse | None]:
    """Measure again and again, a slice at each call: the result when a round is over, None within one."""
    while True:
        use = DiskUse()
        for count, _ in enumerate(_measuring(folders, use)):
            if count % SLICE == SLICE - 1:
                yield None
        yield use


def measure(folders: Sequence[Path]) -> DiskUse:
    """What lies below the folders; links are not followed, holes don't count."""
    use = DiskUse()
    for _ in _measuring(folders, use):
        pass
    return use


def _measuring(folders: Sequence[Path], use: DiskUse) -> Iterator[None]:
    """Add up in `use`, and pause at each entry."""
    pending = [os.fspath(folder) for folder in folders]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        use.size += entry.stat(follow_symlinks=False).st_blocks * 512
                        use.files += 1
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                    yield
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:  # no permission, or nested deeper than a path can say
            use.whole = False


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for the agent, removed whatever it left there."""
    folder = Path(tempfile.mkdtemp(prefix="mlebench-"))
    try:
        yield folder
    finally:
        make_accessible([folder])
        subprocess.run(["rm", "-rf", "--", folder], check=False, stderr=subprocess.DEVNULL)


def make_accessible(folders: Sequence[Path]) -> None:
    """Give the folders back to us, whatever rights an agent, by now dead, left on its files."""
    if os.geteuid() == 0:
        owner = f"{os.geteuid()}:{os.getegid()}"
        subprocess.run(["chown", "-Rh", owner, *folders], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["chmod", "-R", "u+rwX,ug-s", *folders], check=False, stderr=subprocess.DEVNULL)
