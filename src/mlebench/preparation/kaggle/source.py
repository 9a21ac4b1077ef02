"""The source `kaggle`: downloads a competition's zip once, keeps it, and unpacks it."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from pathlib import Path

from mlebench.competition import Competition
from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import unzip
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.download import Archive, describe, download


class Kaggle:
    """Zips in `<data_dir>/<id>/<id>.zip`, from Kaggle where they are not there yet.

    Credentials are looked for, and the network is used, only when something has to be downloaded.
    """

    name = "kaggle"

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._archive: Archive | None = None
        self._published = ""

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Unpack the competition's zip into `raw`. Raises UsageError without credentials, a KaggleError without zip."""
        self._archive = self.archive(competition.id)
        self._published = competition.checksums.get("zip", "")
        if not zipfile.is_zipfile(self._archive.path):
            raise PreparationError(
                f"{self._archive.path} is no zip archive; remove it and run the same command again to download it"
            )
        unzip(self._archive.path, raw)

    def archive(self, competition_id: str) -> Archive:
        """The competition's zip, downloaded if it is not there."""
        path = self.data_dir / competition_id / f"{competition_id}.zip"
        if path.is_file():
            return describe(path)
        with Client() as client, _Shown(f"{competition_id}: downloading from Kaggle") as shown:
            return download(client, competition_id, path, on_progress=shown)

    def describe(self) -> dict[str, object]:
        """The zip: its md5 and whether that is the published one (if one is), its size and time."""
        if self._archive is None:
            return {"source": self.name}
        archive = self._archive
        facts: dict[str, object] = {"md5": archive.md5, "size": archive.size, "modified": archive.modified}
        if self._published:
            facts["is_published"] = archive.md5 == self._published
        return {"source": self.name, "zip": facts}


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
