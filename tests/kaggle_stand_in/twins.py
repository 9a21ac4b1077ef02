"""Zips as Kaggle packs them, of synthetic twins."""

from pathlib import Path

from mlebench import catalog
from mlebench.preparation.archives import zip_files
from mlebench.preparation.files import walk
from mlebench.preparation.sources import Synthetic


def zip_of_twin(competition_id: str, folder: Path, rows: int | None = None, seed: int = 0) -> Path:
    """`<folder>/<id>.zip`: the raw files of the twin, deflated, without entries for folders."""
    raw = folder / f"{competition_id}-raw"
    raw.mkdir(parents=True)
    Synthetic(rows, seed).fetch(catalog.get(competition_id), raw)
    archive = folder / f"{competition_id}.zip"
    zip_files([(path, path.relative_to(raw).as_posix()) for path in walk(raw)], archive)
    return archive
