"""The source `kaggle`: downloads a competition's zip, or the few files of it that are needed, once."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mlebench.competition import Competition
from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import unzip
from mlebench.preparation.archives.contents import Damaged
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.download import discard, download, is_begun
from mlebench.preparation.kaggle.patience import Patience
from mlebench.preparation.kaggle.preflight import forgetting
from mlebench.preparation.kaggle.single_files import SingleFiles


@dataclass(frozen=True)
class _Obtained:
    """What is there: the zip, or files by their names."""

    zip: records.Archive | None
    files: dict[str, records.Archive]
    published: str  # md5 of the zip, "" if it is not known


class Kaggle:
    """Downloads in `<data_dir>/<id>`: `<id>.zip`, or `<id>.files` where less than half of the zip is needed.

    A zip that is there is taken, whoever put it there. Credentials are looked for, and the network is used, only when
    something has to be downloaded.
    """

    name = "kaggle"

    def __init__(self, data_dir: Path, patience: Patience | None = None) -> None:
        self.data_dir = data_dir
        self._patience = patience
        self._found: _Obtained | None = None

    def obtain(self, competition: Competition) -> None:
        """Bring zip or files here if they are not. Raises UsageError without credentials, else a KaggleError."""
        path, files = self._zip(competition), self._files(competition)
        archive = None
        if path.is_file():
            archive = records.describe(path)
        elif not files.are_there:
            archive = self._download(competition, path, files)
        if archive is not None and not zipfile.is_zipfile(path):
            raise PreparationError(f"{path} is no zip archive; remove it and run the same command again to download it")
        published = competition.checksums.get("zip", "")
        self._found = _Obtained(archive, {} if archive else files.archives(), published)

    def bytes_here(self, competition: Competition) -> int | None:
        """The size of what is here for `fetch`; None if something has to be downloaded first."""
        path, files = self._zip(competition), self._files(competition)
        if path.is_file():
            return path.stat().st_size
        return sum(each.size for each in files.archives().values()) if files.are_there else None

    def discard(self, competition: Competition) -> int:
        """Remove what was downloaded here; returns the number of bytes freed."""
        return discard(self._zip(competition)) + self._files(competition).discard()

    def origin(self, competition: Competition) -> str:
        """Names, sizes and times of what is there."""
        found = self._obtained(competition)
        archives = [found.zip] if found.zip else list(found.files.values())
        facts = [f"{each.path.name} {each.size} {each.path.stat().st_mtime_ns}" for each in archives]
        return "\n".join(facts)

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Unpack the zip into `raw`, or put the single files there."""
        found = self._obtained(competition)
        if found.zip:
            _unzip(found.zip.path, raw)
        else:
            self._files(competition).place(raw)

    def describe(self) -> dict[str, object]:
        """Size, time and md5 of the zip, and whether that is the published md5 (if one is); or of the single files."""
        if self._found is None:
            return {"source": self.name}
        if self._found.zip is None:
            return {"source": self.name, "single_files": {n: _facts(a) for n, a in self._found.files.items()}}
        facts = _facts(self._found.zip)
        if self._found.published:
            facts["is_published"] = self._found.zip.md5 == self._found.published
        return {"source": self.name, "zip": facts}

    def _download(self, competition: Competition, path: Path, files: SingleFiles) -> records.Archive | None:
        """The zip; None if single files were the better way."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"{competition.id}: downloading from Kaggle"
        with Client(patience=self._patience) as client, forgetting(client, competition.id), _Shown(text) as shown:
            if not is_begun(path) and files.obtain(client, shown):
                return None
            return download(client, competition.id, path, on_progress=shown, recorded=True)

    def _zip(self, competition: Competition) -> Path:
        return self.data_dir / competition.id / f"{competition.id}.zip"

    def _files(self, competition: Competition) -> SingleFiles:
        return SingleFiles(self.data_dir / competition.id, competition)

    def _obtained(self, competition: Competition) -> _Obtained:
        """What is there, obtained again if somebody removed it since."""
        is_there = self._zip(competition).is_file() or self._files(competition).are_there
        if self._found is None or not is_there:
            self.obtain(competition)
        assert self._found is not None
        return self._found


def _unzip(path: Path, raw: Path) -> None:
    try:
        unzip(path, raw)
    except PreparationError as error:
        if not isinstance(error.__cause__, Damaged | zipfile.BadZipFile):
            raise
        raise PreparationError(f"{error}. Remove {path} and run the same command again to download it") from error


def _facts(archive: records.Archive) -> dict[str, object]:
    return {"md5": archive.md5, "size": archive.size, "modified": archive.modified}


class _Shown(ExitStack):
    """Shows a download's bytes as a step, from when their number is known."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._step: progress.Step | None = None
        self._total = self._shown = 0

    def __call__(self, done: int, total: int) -> None:
        if self._step is None or total != self._total:  # the first, or not what was begun
            self.close()
            self._step = self.enter_context(progress.step(self._text, total, "B"))
            self._total, self._shown = total, 0
        self._step(done - self._shown)
        self._shown = done
