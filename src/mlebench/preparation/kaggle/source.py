"""The source `kaggle`: downloads a competition's zip once and unpacks it."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from pathlib import Path

from mlebench.competition import Competition
from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import unzip
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.download import download


class Kaggle:
    """Zips in `<data_dir>/<id>/<id>.zip`, from Kaggle where they are not there yet.

    Credentials are looked for, and the network is used, only when something has to be downloaded.
    """

    name = "kaggle"

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._archive: records.Archive | None = None
        self._published = ""

    def obtain(self, competition: Competition) -> None:
        """Bring the zip here if it is not. Raises UsageError without credentials, a KaggleError without zip."""
        path = self._zip(competition)
        if path.is_file():
            self._archive = records.describe(path)
        else:
            with Client() as client, _Shown(f"{competition.id}: downloading from Kaggle") as shown:
                self._archive = download(client, competition.id, path, on_progress=shown, recorded=True)
        self._published = competition.checksums.get("zip", "")
        if not zipfile.is_zipfile(path):
            raise PreparationError(f"{path} is no zip archive; remove it and run the same command again to download it")

    def discard(self, competition: Competition) -> int:
        """Remove the zip if it was downloaded here; returns the number of bytes freed."""
        return records.remove(self._zip(competition))

    def origin(self, competition: Competition) -> str:
        """The zip with its size and the time of its last byte."""
        found = self._obtained(competition)
        return f"{found.path.name} {found.size} {found.path.stat().st_mtime_ns}"

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Unpack the zip into `raw`."""
        unzip(self._obtained(competition).path, raw)

    def describe(self) -> dict[str, object]:
        """The zip: its md5 and whether that is the published one (if one is), its size and time."""
        if self._archive is None:
            return {"source": self.name}
        archive = self._archive
        facts: dict[str, object] = {"md5": archive.md5, "size": archive.size, "modified": archive.modified}
        if self._published:
            facts["is_published"] = archive.md5 == self._published
        return {"source": self.name, "zip": facts}

    def _zip(self, competition: Competition) -> Path:
        return self.data_dir / competition.id / f"{competition.id}.zip"

    def _obtained(self, competition: Competition) -> records.Archive:
        if self._archive is None or not self._archive.path.is_file():
            self.obtain(competition)
        assert self._archive is not None
        return self._archive


class _Shown(ExitStack):
    """Shows a download's bytes as a step, from when their number is known."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._step: progress.Step | None = None
        self._shown = 0

    def __call__(self, done: int, total: int) -> None:
        if self._step is None:
            self._step = self.enter_context(progress.step(self._text, total))
        self._step(done - self._shown)
        self._shown = done
