"""Files of a competition one by one, where its preparation needs less than half of the bytes.

They lie in `<id>.files`, each with its record; `<id>.files.json` is written when all are there.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlebench.competition import Competition, covers
from mlebench.files import write_json
from mlebench.preparation.archives import leads_outside, unzip
from mlebench.preparation.files import link_file
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.client import Client, RemoteFile
from mlebench.preparation.kaggle.download import Progress, download
from mlebench.preparation.kaggle.errors import KaggleError, RulesNotAccepted, Transient
from mlebench.preparation.locks import held, held_if_free

MAX_LISTED = 500  # files: five pages of the list


@dataclass(frozen=True)
class SingleFiles:
    """The files that a competition needs, in its folder `home`."""

    home: Path
    competition: Competition

    @property
    def folder(self) -> Path:
        """Where they lie, as they came."""
        return self.home / f"{self.competition.id}.files"

    @property
    def needs(self) -> Sequence[str]:
        """The entries of `raw_files` for which all is there."""
        return self._index()[0]

    @property
    def are_there(self) -> bool:
        """Whether all are there, whole and unchanged."""
        needs, names = self._index()
        return (
            bool(self.competition.raw_files)
            and set(self.competition.raw_files) <= set(needs)
            and all(records.is_ours(self.folder / name) for name in names)
        )

    def archives(self) -> dict[str, records.Archive]:
        """The files by name, as they came."""
        return {name: records.describe(self.folder / name) for name in self._index()[1]}

    def obtain(self, client: Client, on_progress: Progress) -> bool:
        """Download what is missing; False if the zip is the better way, or the only one.

        Raises a Transient that did not pass, and RulesNotAccepted: no zip would come either.
        """
        if not self.competition.raw_files:
            return False
        with held(self._lock, f"{self.competition.id}: downloading files"):
            try:
                return self.are_there or self._download(client, on_progress)
            except (Transient, RulesNotAccepted):
                raise
            except KaggleError:  # the zip says itself if it can't be had either
                return False

    def place(self, raw: Path) -> None:
        """Put the files into `raw` under their names: links where the file system can; what came packed is unpacked."""
        for name in self._index()[1]:
            source, target = self.folder / name, raw / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (packed := _only_member(source)) in (name, target.name):
                unzip(source, raw if packed == name else target.parent)
            else:
                target.unlink(missing_ok=True)  # of an earlier call, which may have died while it copied
                link_file(source, target)

    def keep(self) -> None:
        """Remember that they are to stay."""
        if self.are_there and not self.are_kept:
            write_json(self._index_path, self._index_content() | {"kept": True})

    @property
    def are_kept(self) -> bool:
        """Whether they are there, and to stay."""
        return self.are_there and self._index_content().get("kept") is True

    def discard(self) -> int:
        """Remove them if they aren't kept and no process downloads right now; returns the number of bytes freed."""
        if not self.folder.exists() or self.are_kept:
            return 0
        with held_if_free(self._lock) as free:
            if not free:
                return 0
            freed = sum(records.freed_by(path) for path in self.folder.rglob("*") if path.is_file())
            self._index_path.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
        return freed

    def _download(self, client: Client, on_progress: Progress) -> bool:
        files = choose(client.files(self.competition.id, limit=MAX_LISTED), self.competition.raw_files)
        total, before = sum(file.size for file in files), 0
        for file in files:
            target = self.folder / file.name
            if not records.is_ours(target):
                target.unlink(missing_ok=True)

            # Kaggle may send a file packed: its bytes are counted as those that it lists.
            def tell(done: int, of: int, before: int = before, size: int = file.size) -> None:
                on_progress(before + size * done // max(of, 1), total)

            download(client, self.competition.id, target, file=file.name, on_progress=tell, recorded=True)
            before += file.size
        if files:
            content = {"of": self.competition.id, "needs": self.competition.raw_files}
            write_json(self._index_path, {**content, "files": [file.name for file in files]})
        return bool(files)

    @property
    def _index_path(self) -> Path:
        return self.home / f"{self.competition.id}.files.json"

    @property
    def _lock(self) -> Path:
        return self.home / f".{self.competition.id}.files.lock"

    def _index(self) -> tuple[Sequence[str], Sequence[str]]:
        """The entries of `raw_files` for which all is there, and the files' names."""
        try:
            content = self._index_content()
            return content["needs"], content["files"]
        except (OSError, ValueError, TypeError, KeyError):
            return (), ()

    def _index_content(self) -> dict[str, Any]:
        return json.loads(self._index_path.read_text(encoding="utf-8"))


def choose(listed: Sequence[RemoteFile], needs: Sequence[str]) -> list[RemoteFile]:
    """Those of the listed files to download one by one; none if the zip is the better way.

    Files whose size is not told count for nothing, and so does what lies beyond the end of a list of MAX_LISTED.
    """
    files = {file.name: file for file in listed if any(covers(need, file.name) for need in needs)}
    if not all(any(covers(need, name) for name in files) for need in needs):
        return []
    may_be_more = len(listed) >= MAX_LISTED and any(need.endswith("/") for need in needs)
    if may_be_more or 2 * sum(file.size for file in files.values()) >= sum(file.size for file in listed):
        return []
    # The record of "data" would stand where "data.json" does.
    if any(leads_outside(name) or f"{name}.json" in files for name in files):
        return []
    return list(files.values())


def _only_member(path: Path) -> str | None:
    """The name of the only member of a zip, None if it is none or has several."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as opened:
            names = opened.namelist()
    except zipfile.BadZipFile:
        return None
    return names[0] if len(names) == 1 else None
