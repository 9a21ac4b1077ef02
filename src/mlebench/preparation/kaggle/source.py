"""The source `kaggle`: downloads a competition's zip, or the few files of it that are needed, once."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from mlebench.preparation.kept_raw import KeptRaw, whole_raw_of

PATIENCE = Patience(tries=11)  # five minutes: in the night a line may be gone for some


@dataclass(frozen=True)
class _Obtained:
    """What is there: raw files that an earlier preparation kept, the zip, or files by their names."""

    raw: KeptRaw | None
    zip: records.Archive | None
    files: dict[str, records.Archive]
    facts: Mapping[str, Any]  # for the manifest


class Kaggle:
    """Downloads in `<data_dir>/<id>`: `<id>.zip`, or `<id>.files` where less than half of the zip is needed.

    A zip that is there is taken, whoever put it there; raw files that were kept, too, if they are whole and not of
    another zip. Credentials are looked for, and the network is used, only when something has to be downloaded.
    """

    name = "kaggle"

    def __init__(self, data_dir: Path, patience: Patience | None = None) -> None:
        self.data_dir = data_dir
        self._patience = patience or PATIENCE
        self._found: _Obtained | None = None

    def obtain(self, competition: Competition) -> None:
        """Bring zip or files here if they are not. Raises UsageError without credentials, else a KaggleError."""
        path, files = self._zip(competition), self._files(competition)
        archive, raw = None, self._kept_raw(competition)
        if raw:
            self._found = _Obtained(raw, None, {}, raw.source)
            return
        if path.is_file():
            archive = records.describe(path)
        elif not files.are_there:
            archive = self._download(competition, path, files)
        if archive is not None and not zipfile.is_zipfile(path):
            raise PreparationError(f"{path} is no zip archive; remove it and run the same command again to download it")
        found = {} if archive else files.archives()
        facts = _facts_of_zip(archive, competition) if archive else _facts_of_files(found, files.needs)
        self._found = _Obtained(None, archive, found, {"source": self.name, **facts})

    def bytes_here(self, competition: Competition) -> int | None:
        """The size of what is here for `fetch`, as downloads; None if something has to be downloaded first."""
        path, files = self._zip(competition), self._files(competition)
        if path.is_file():
            return path.stat().st_size
        if raw := self._kept_raw(competition):
            return _downloaded_bytes(raw.source)
        return sum(each.size for each in files.archives().values()) if files.are_there else None

    def is_unpacked(self, competition: Competition) -> bool:
        """Whether raw files that an earlier preparation kept are here for `fetch`, which only links to them."""
        return self._kept_raw(competition) is not None

    def keep(self, competition: Competition) -> None:
        """Remember that what was downloaded here is to stay, whatever later preparations keep."""
        records.keep(self._zip(competition))
        self._files(competition).keep()

    def discard(self, competition: Competition) -> int:
        """Remove what was downloaded here and is not kept; returns the number of bytes freed."""
        return discard(self._zip(competition)) + self._files(competition).discard()

    def origin(self, competition: Competition) -> str:
        """Names, sizes and times of what is there."""
        found = self._obtained(competition)
        if found.raw:
            return f"{found.raw.folder.absolute()} {found.raw.recorded}"
        archives = [found.zip] if found.zip else list(found.files.values())
        facts = [f"{each.path.name} {each.size} {each.path.stat().st_mtime_ns}" for each in archives]
        return "\n".join(facts)

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Unpack the zip into `raw`, or put the single files or links to kept raw files there."""
        found = self._obtained(competition)
        if found.raw:
            found.raw.link_into(raw)
        elif found.zip:
            _unzip(found.zip.path, raw)
        else:
            self._files(competition).place(raw)

    def describe(self) -> dict[str, object]:
        """Size, time and md5 of the zip, and whether that is the published md5 (if one is); or of the single files.

        Of kept raw files it is told what they were made from.
        """
        return dict(self._found.facts) if self._found else {"source": self.name}

    def _download(self, competition: Competition, path: Path, files: SingleFiles) -> records.Archive | None:
        """The zip; None if single files were the better way."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"{competition.id}: downloading from Kaggle"
        with Client(patience=self._patience) as client, forgetting(client, competition.id), _Shown(text) as shown:
            if not is_begun(path) and files.obtain(client, shown):
                return None
            return download(client, competition.id, path, on_progress=shown, recorded=True)

    def _kept_raw(self, competition: Competition) -> KeptRaw | None:
        """Raw files of an earlier preparation that are all that this one needs."""
        if type(competition) is not Competition:  # others, of v1's form, may change raw files in place
            return None
        raw = whole_raw_of(self.data_dir / competition.id, self.name)
        return raw if raw and _serves(raw.source, competition, self._zip(competition)) else None

    def _zip(self, competition: Competition) -> Path:
        return self.data_dir / competition.id / f"{competition.id}.zip"

    def _files(self, competition: Competition) -> SingleFiles:
        return SingleFiles(self.data_dir / competition.id, competition)

    def _obtained(self, competition: Competition) -> _Obtained:
        """What is there, obtained again if somebody removed it since."""
        if self._found is None or not self._is_there(self._found, competition):
            self.obtain(competition)
        assert self._found is not None
        return self._found

    def _is_there(self, found: _Obtained, competition: Competition) -> bool:
        if found.raw:
            return found.raw.folder.is_dir()
        return self._zip(competition).is_file() or self._files(competition).are_there


def _unzip(path: Path, raw: Path) -> None:
    try:
        unzip(path, raw)
    except PreparationError as error:
        if not isinstance(error.__cause__, Damaged | zipfile.BadZipFile):
            raise
        raise PreparationError(f"{error}. Remove {path} and run the same command again to download it") from error


def _serves(source: Mapping[str, Any], competition: Competition, zip_here: Path) -> bool:
    """Whether raw files of which a record says this are those that the competition needs."""
    if zip_here.is_file():  # whoever put another one there wants that to be taken
        here, made_of = records.archive(zip_here, ""), source.get("zip", {})
        return (made_of.get("size"), made_of.get("modified")) == (here.size, here.modified)
    if "zip" in source:
        return True
    needs = competition.raw_files
    return bool(needs) and set(needs) <= set(source.get("needs", ()))


def _facts_of_zip(archive: records.Archive, competition: Competition) -> dict[str, object]:
    published = competition.checksums.get("zip")
    is_published = {"is_published": archive.md5 == published} if published else {}
    return {"zip": _facts(archive) | is_published}


def _facts_of_files(files: Mapping[str, records.Archive], needs: Sequence[str]) -> dict[str, object]:
    return {"single_files": {name: _facts(archive) for name, archive in files.items()}, "needs": list(needs)}


def _downloaded_bytes(source: Mapping[str, Any]) -> int:
    """The size of what raw files were made from."""
    archives = [source["zip"]] if "zip" in source else source["single_files"].values()
    return sum(archive["size"] for archive in archives)


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
