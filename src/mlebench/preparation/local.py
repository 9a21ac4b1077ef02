"""The source `local`: raw files, archives and prepared data that the user has; nothing of it is ever changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlebench.competition import Competition
from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import PreparationError, UsageError
from mlebench.preparation.archives import extract
from mlebench.preparation.layout import SCRATCH

ARCHIVES = (".zip", ".7z", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")


@dataclass(frozen=True)
class _Found:
    """What there is of one competition."""

    kind: Literal["archive", "raw", "prepared"]
    path: Path  # of "prepared": the folder that holds prepared/, or prepared-v2/


class Local:
    """A path of the user's: the files of one competition, or a folder that holds several by their ids.

    Of one competition it takes an archive as Kaggle delivers it, a folder of its raw files (linked to), or the
    competition's folder in a data directory: what mlebench prepared there, else the archive, else the raw files,
    else what the original prepared. In a folder for several, `<id>` is such a folder and `<id>.zip`, `<id>.7z`,
    `<id>.tar.gz` … such an archive.
    """

    name = "local"

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self._taken = self.path
        if not self.path.exists():
            raise UsageError(f"--source {path}: there is no such folder or archive")

    def prepared(self, competition: Competition) -> Path | None:
        """The folder whose prepared files are to be taken over: ours, or where there is nothing to prepare from."""
        homes = (self.path / competition.id, self.path)
        home = next((home for home in homes if _is_prepared_by_us(home, competition)), None)
        if not home:
            found = self._find(competition.id)
            home = found.path if found.kind == "prepared" else None
        return home

    def origin(self, competition: Competition) -> str:
        """The archive with its size and time, or the folder."""
        found = self._find(competition.id)
        if found.kind != "archive":
            return f"folder {found.path}"
        facts = found.path.stat()
        return f"{found.path} {facts.st_size} {facts.st_mtime_ns}"

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Unpack the archive into `raw`, or link to all that is in the folder."""
        found = self._find(competition.id)
        self._taken = found.path
        if found.kind == "prepared":
            raise PreparationError(f"{found.path} holds prepared files alone, nothing to prepare them from again")
        if found.kind == "archive":
            extract(found.path, raw)
            return
        for entry in sorted(found.path.iterdir()):
            link = raw / entry.name
            if entry.name != SCRATCH and not link.is_symlink():
                link.symlink_to(entry)

    def describe(self) -> dict[str, object]:
        """The path of what was taken."""
        return {"source": self.name, "path": str(self._taken)}

    def _find(self, competition_id: str) -> _Found:
        """What there is of the competition. Raises PreparationError that says what was looked for."""
        if self.path.is_file():
            return _Found("archive", self.path)
        found = _in_folder(self.path / competition_id, competition_id) or _archive(self.path, competition_id)
        if not found and self.path.name != competition_id and (others := _others_in(self.path, competition_id)):
            raise PreparationError(
                f"{competition_id} is not in {self.path}: there is neither a folder {competition_id} with files in it "
                f"nor an archive {competition_id}.zip (.7z, .tar.gz); there is {', '.join(others)}"
            )
        found = found or _in_folder(self.path, competition_id)
        if not found:
            raise PreparationError(f"{competition_id} can't be prepared from {self.path}: the folder is empty")
        return found


def _is_prepared_by_us(home: Path, competition: Competition) -> bool:
    """Whether it holds the competition as this version prepares it, with a manifest by which that can be verified."""
    dataset = Dataset(competition, home)
    try:
        manifest = read_manifest(home / dataset.prepared.name)
    except (OSError, ValueError):
        return False
    return (
        manifest.get("competition") == competition.id
        and manifest.get("edition") == dataset.revision
        and manifest.get("source") != "synthetic"
    )


def _in_folder(folder: Path, competition_id: str) -> _Found | None:
    """What is there of a competition in its own folder: raw files, or a data directory's archive, raw, prepared."""
    if not _has_entries(folder):
        return None
    if archive := _archive(folder, competition_id):
        return archive
    if _has_entries(folder / "raw"):
        return _Found("raw", folder / "raw")
    if any((folder / name / "public").is_dir() for name in ("prepared", "prepared-v2")):
        return _Found("prepared", folder)
    return _Found("raw", folder)


def _archive(folder: Path, competition_id: str) -> _Found | None:
    paths = (folder / f"{competition_id}{ending}" for ending in ARCHIVES)
    return next((_Found("archive", path) for path in paths if path.is_file()), None)


def _has_entries(folder: Path) -> bool:
    """Whether there is more in the folder than hidden files, as locks are."""
    return folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir())


def _others_in(folder: Path, competition_id: str) -> list[str]:
    """The first few other competitions whose data are in the folder: it is one for several then."""
    from mlebench.catalog import BUILT_IN

    known = {path.name for path in BUILT_IN.iterdir()} - {competition_id}
    names = (entry.name for entry in folder.iterdir())
    found = sorted(name for name in names if name in known or _without_ending(name) in known)
    return [*found[:3], "…"] if len(found) > 3 else found


def _without_ending(name: str) -> str:
    return next((name.removesuffix(ending) for ending in ARCHIVES if name.endswith(ending)), "")
