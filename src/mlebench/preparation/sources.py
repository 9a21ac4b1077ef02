"""Where raw files come from: a small protocol and a table of sources."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from mlebench.competition import Competition
from mlebench.dataset import Dataset, default_data_dir
from mlebench.errors import PreparationError, UsageError
from mlebench.preparation.local import Local

SIDES = ("public", "private")
Keep = Literal["nothing", "zip", "raw"]
"""What stays beside the prepared files: nothing, the downloaded zip, or the raw files unpacked from it.

What an earlier call kept stays in any case, until it is cleaned away.
"""


class Source(Protocol):
    """Fills a folder with the raw files of a competition, as Kaggle ships them."""

    name: str  # "kaggle", "local" or "synthetic": what manifest and reports say

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Fill the empty folder `raw`. Raises PreparationError if the files can't be had."""

    def describe(self) -> dict[str, object]:
        """What the manifest keeps about the source."""
        ...


@runtime_checkable
class Downloading(Source, Protocol):
    """A source with a part that uses the network; `fetch` calls `obtain` itself if that has not happened."""

    def obtain(self, competition: Competition) -> None:
        """Bring everything onto this machine, going on where an interrupted call stopped; nothing if it is there."""

    def discard(self, competition: Competition) -> int:
        """Remove what `obtain` downloaded, never a user's own file or what is kept; returns the bytes freed."""
        ...


@runtime_checkable
class Keeping(Downloading, Protocol):
    """A source that knows which of its downloads are to stay."""

    def keep(self, competition: Competition) -> None:
        """Remember that what `obtain` brought here is kept on purpose: `discard` of a later call spares it, too."""
        ...


@runtime_checkable
class Resumable(Source, Protocol):
    """A source whose interrupted `fetch` is continued, file by file, by one into the same folder."""

    def origin(self, competition: Competition) -> str:
        """What raw files are made from (file, size, time): a folder begun from another origin is thrown away."""
        ...


@runtime_checkable
class Adopting(Source, Protocol):
    """A source that may have files which are prepared already."""

    def prepared(self, competition: Competition) -> Path | None:
        """The folder that holds them as a data directory does (`prepared/public` …); None: there are raw files."""
        ...


class Synthetic:
    """Made-up raw files with the real schema."""

    name = "synthetic"

    def __init__(self, rows: int | None = None, seed: int = 0) -> None:
        self.rows, self.seed = rows, seed

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Call the competition's `make_raw`."""
        import numpy as np

        if not competition.has_synthetic_twin:
            raise UsageError(f"{competition.id} has no synthetic twin (no synthetic.py in {competition.folder})")
        rng = np.random.default_rng([self.seed, zlib.crc32(competition.id.encode())])
        competition.make_raw(raw, rng, self.rows or competition.synthetic_size)

    def describe(self) -> dict[str, object]:
        """The seed and the number of rows asked for."""
        return {"source": self.name, "rows": self.rows, "seed": self.seed}


def find_source(text: str, rows: int | None = None, seed: int = 0, data_dir: Path | None = None) -> Source:
    """The source that `--source` names: `synthetic`, `kaggle`, a path, or a dotted path `module:Class`.

    `data_dir` is where zips from Kaggle are kept, in a folder for each competition (default: the data directory).
    Raises UsageError if there is none.
    """
    if text == "synthetic":
        return Synthetic(rows, seed)
    if text == "kaggle":
        from mlebench.preparation.kaggle.source import Kaggle

        return Kaggle(data_dir or default_data_dir())
    path = Path(text)
    module, separator, name = text.partition(":")
    if separator and not path.exists() and module.replace(".", "").isidentifier():
        import importlib

        return getattr(importlib.import_module(module), name)()
    return Local(path)


def is_prepared_from(dataset: Dataset, source: Source) -> bool:
    """Whether the data are there. Raises PreparationError if they came from another kind of source."""
    if not dataset.is_prepared:
        return False
    manifest = dataset.manifest()
    if manifest["source"] != source.name and (not manifest.get("adopted") or source.name == "synthetic"):
        raise PreparationError(
            f"{dataset.competition.id} is prepared from source {manifest['source']} in {dataset.data_dir}; "
            f"--force prepares it again from {source.name}, --data-dir puts it elsewhere"
        )
    return True


def holds_strangers_files(dataset: Dataset) -> bool:
    """Whether files stand where the prepared ones belong that no manifest belongs to: the original's, say.

    They are taken over, or refused, before anything is downloaded.
    """
    return not dataset.is_prepared and any(has_entries(dataset.prepared / side) for side in SIDES)


def has_entries(folder: Path) -> bool:
    """Whether it is a folder with something in it."""
    return folder.is_dir() and any(folder.iterdir())


def discard(raw: Path) -> None:
    """Remove a raw folder; files behind links stay."""
    shutil.rmtree(raw, ignore_errors=True)
