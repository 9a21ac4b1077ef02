"""Zips as Kaggle packs them, of synthetic twins; and what must be prepared from them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.preparation.archives import zip_files
from mlebench.preparation.engine import prepare
from mlebench.preparation.files import walk
from mlebench.preparation.sources import Synthetic

ROWS = 100  # enough for all competitions


@dataclass(frozen=True)
class Twin:
    """A competition's archive, and the files of its manifest when it is prepared from source `synthetic`."""

    id: str
    archive: Path
    files: dict[str, dict[str, object]]


def zip_of_twin(competition_id: str, folder: Path, rows: int | None = None, seed: int = 0) -> Path:
    """`<folder>/<id>.zip`: the raw files of the twin, deflated, without entries for folders."""
    raw = folder / f"{competition_id}-raw"
    raw.mkdir(parents=True)
    Synthetic(rows, seed).fetch(catalog.get(competition_id), raw)
    return pack(raw, folder / f"{competition_id}.zip")


def pack(raw: Path, archive: Path) -> Path:
    """All files below `raw`, each of them deflated as they are: those that are archives stay archives inside."""
    zip_files([(path, path.relative_to(raw).as_posix()) for path in walk(raw)], archive)
    return archive


def make_twins(ids: Sequence[str], folder: Path, edition: str = "v1", processes: int = 2) -> list[Twin]:
    """The twins of these competitions, in `folder`, which is filled by so many processes."""
    missing = [name for name in ids if not _files(name, folder, edition).is_file()]
    command = [sys.executable, "-c", _PROGRAM, edition, str(folder), *missing]
    running = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for _ in missing[:processes]]
    failed = [process.wait() for process in running]
    assert not any(failed), failed
    return [Twin(name, _archive(name, folder), json.loads(_files(name, folder, edition).read_text())) for name in ids]


_PROGRAM = """
import sys
from pathlib import Path
from kaggle_stand_in.twins import make_twin
edition, folder, *names = sys.argv[1:]
for name in names:
    make_twin(name, Path(folder), edition)
"""


def make_twin(competition_id: str, folder: Path, edition: str) -> None:
    """Make what `Twin` holds, unless another process does."""
    made = folder / f"{competition_id}-{edition}"
    try:
        made.mkdir(parents=True)
    except FileExistsError:
        return
    dataset = Dataset(catalog.get(competition_id).in_edition(edition), made)
    prepare(dataset, Synthetic(ROWS), keep="raw")
    if edition == "v1":
        pack(dataset.raw, _archive(competition_id, folder))
    _files(competition_id, folder, edition).write_text(json.dumps(dataset.manifest()["files"]))
    shutil.rmtree(dataset.home)


def _archive(competition_id: str, folder: Path) -> Path:
    return folder / "zips" / f"{competition_id}.zip"


def _files(competition_id: str, folder: Path, edition: str) -> Path:
    return folder / f"{competition_id}-{edition}.json"
