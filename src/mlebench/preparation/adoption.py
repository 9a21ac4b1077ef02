"""Taking over what another program, or another machine, has prepared already: linked, checked, never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files
from mlebench.preparation.sources import SIDES, has_entries
from mlebench.preparation.verification import checksums, files_in, published_mismatches


def adopt(home: Path, dataset: Dataset, prepared: Path) -> dict[str, object]:
    """Link what is prepared in the competition's folder `home` into `prepared`; returns the facts for the manifest.

    Taken is what the published checksums, or our own manifest beside it, say is right; the sample submission is
    checked with the manifest that is written next. Raises PreparationError with what is wrong.
    """
    folder = home / dataset.prepared.name
    wrong = [f"there is no {folder / side}" for side in SIDES if not has_entries(folder / side)]
    wrong = wrong or (_unlike_manifest(folder, dataset) if _is_ours(folder) else _unlike_published(folder, dataset))
    if wrong:
        raise PreparationError(
            f"{dataset.competition.id}: the prepared files in {folder} can't be taken over: {_shown(wrong)}. Raw files "
            'or the zip as a source ("--source PATH", or kaggle), with "--force" if data stand in their place, '
            "prepare them anew"
        )
    pairs = ((folder / path, prepared / path) for path in _paths(folder))
    link_files(pairs, f"{dataset.competition.id}: taking over prepared files")
    return {"adopted": True, **({"adopted_from": _origin(folder)} if _is_ours(folder) else {})}


def _is_ours(folder: Path) -> bool:
    return (folder / "manifest.json").is_file()


def _paths(folder: Path) -> list[str]:
    """The files to be taken over: those of the manifest, else all on both sides."""
    if _is_ours(folder):
        return list(read_manifest(folder)["files"])
    return [f"{side}/{path}" for side in SIDES for path in files_in(folder / side)]


def _unlike_manifest(folder: Path, dataset: Dataset) -> list[str]:
    manifest = read_manifest(folder)
    if manifest["source"] == "synthetic":
        return ['they are synthetic ("--source synthetic" makes them)']
    if manifest["edition"] != dataset.revision:
        return [f"they are of edition {manifest['edition']}, and this version of mlebench has {dataset.revision}"]
    files: dict[str, dict[str, Any]] = manifest["files"]
    found = checksums(folder, [path for path in files if (folder / path).is_file()])
    missing = [f"{path} is missing" for path in files if path not in found]
    return missing + [f"{path} was changed" for path in found if found[path]["blake3"] != files[path]["blake3"]]


def _unlike_published(folder: Path, dataset: Dataset) -> list[str]:
    competition = dataset.competition
    if dataset.revision != "v1":
        return ["the original has no such edition"]
    wrong = published_mismatches(competition, folder)
    return [f"{mismatch.path} {'is not the published file' if mismatch.found else 'is missing'}" for mismatch in wrong]


def _origin(folder: Path) -> dict[str, Any]:
    """What the manifest says about where the files came from first."""
    manifest = read_manifest(folder)
    about = {"competition", "edition", "created", "sample_score", "hash", "files"}
    return {key: value for key, value in manifest.items() if key not in about}


def _shown(wrong: list[str]) -> str:
    return "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3:,} more" if len(wrong) > 3 else "")
