"""Are data what they should be? Our own hashes of all files, the published md5; and what may have happened if not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError
from mlebench.preparation.layout import RAW_RECORD
from mlebench.preparation.placing import paths_in
from mlebench.preparation.verification.damage import Cause, Expected, Kind, cause, cause_of_extra, cause_of_missing
from mlebench.preparation.verification.hashing import Digest, digests

NO_FAILURES: tuple[Kind, ...] = ("rewritten", "writer", "replaced")
_SHOWN = 3  # files of many that all have the same fault
_LATE = 2.0  # seconds; some file systems know no shorter ones
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Mismatch:
    """A file that is not what it should be."""

    path: str  # "public/train.csv", "raw/train.csv", "<id>.zip"
    expected: str  # "blake3 …" or "md5 …"; "" if nothing should be there
    found: str  # "" if the file is missing
    kind: Kind = "changed"
    hint: str = ""  # what may have happened
    expected_size: int | None = None
    found_size: int | None = None
    is_failure: bool = True  # if not, the data are as good as they should be


@dataclass(frozen=True)
class Verification:
    """What was looked at, and what was wrong."""

    mismatches: tuple[Mismatch, ...]  # failures first
    files: int
    bytes: int
    published: int  # published md5 that are those of the files

    @property
    def failures(self) -> list[Mismatch]:
        """What makes the data unfit."""
        return [mismatch for mismatch in self.mismatches if mismatch.is_failure]

    @property
    def notes(self) -> list[Mismatch]:
        """What is different and does no harm."""
        return [mismatch for mismatch in self.mismatches if not mismatch.is_failure]


def verify(dataset: Dataset) -> list[Mismatch]:
    """All that makes the data unfit; empty if all is well. See `inspect`."""
    return inspect(dataset).failures


def inspect(dataset: Dataset) -> Verification:
    """Read every file again: prepared ones, kept raw ones, a kept zip; compare with our hashes and the published md5.

    The published ones are compared unless the data are synthetic or of edition v2. Raises NotPreparedError if there
    are no data, PreparationError if their manifest is damaged.
    """
    manifest = _manifest(dataset)
    places = _places(dataset, manifest)
    published = published_checksums(dataset)
    paths = {name: place.path for name, place in places.items()}
    found = digests({**paths, **_zip(dataset)}, needs_md5=_md5(dataset))
    wrong = _unlike_manifest(dataset, manifest, places, found)
    wrong += _unlike_published(dataset, manifest, published, found, {mismatch.path for mismatch in wrong})
    wrong += [_extra(dataset.prepared, path) for path in _extras(dataset, manifest)]
    read = [digest for digest in found.values() if isinstance(digest, Digest)]
    return Verification(
        tuple(sorted(wrong, key=lambda mismatch: not mismatch.is_failure)),
        len(read),
        sum(digest.size for digest in read),
        sum(_unlike_md5(path, md5, found.get(path, FileNotFoundError())) is None for path, md5 in published.items()),
    )


def look_quickly(dataset: Dataset) -> list[Mismatch]:
    """Files that are missing or have another size than they should: nothing is read, so that it takes no time.

    Raises as `inspect`.
    """
    wrong = []
    for name, place in _places(dataset, _manifest(dataset)).items():
        expected = place.expected
        try:
            size = os.stat(place.path).st_size  # noqa: PTH116, for speed
        except OSError:
            missing = cause_of_missing(Path(place.path))
            wrong.append(_mismatch(name, expected, None, missing))
        else:
            if size != expected.size:
                kind: Kind = "empty" if size == 0 else "cut" if size < expected.size else "changed"
                hint = "--verify reads the files and tells more"
                text = f"{size:,} bytes"
                wrong.append(Mismatch(name, f"{expected.size:,} bytes", text, kind, hint, expected.size, size))
    return wrong


def explain(mismatches: Iterable[Mismatch]) -> list[str]:
    """A line or two for each mismatch: the file, expected and found, and what may have happened.

    Of many files in one folder with the same fault, the first few are shown.
    """
    lines = []
    for (_, hint, failure), group in groupby(sorted(mismatches, key=_alike), key=lambda mismatch: _alike(mismatch)[1:]):
        same = list(group)
        lines += [_line(mismatch) for mismatch in same[:_SHOWN]]
        if len(same) > _SHOWN:
            lines[-1] += f"\n    and {len(same) - _SHOWN:,} more in {_folder(same[0])}"
        lines[-1] += f"\n    -> {hint}" if failure else f"\n    -> no failure: {hint}"
    return lines


def _alike(mismatch: Mismatch) -> tuple[bool, str, str, bool]:
    return not mismatch.is_failure, _folder(mismatch), mismatch.hint, mismatch.is_failure


def _folder(mismatch: Mismatch) -> str:
    return mismatch.path.rpartition("/")[0]


def _line(mismatch: Mismatch) -> str:
    expected = _facts(mismatch.expected, mismatch.expected_size) or "nothing"
    found = _facts(mismatch.found, mismatch.found_size) or "no file"
    return f"{mismatch.path}: expected {expected}, found {found}"


def _facts(content: str, size: int | None) -> str:
    name, _, digest = content.partition(" ")
    if name not in ("blake3", "md5"):
        return content
    short = f"{name} {digest[:12]}…"
    return short if size is None else f"{size:,} bytes ({short})"


# --- what there is to compare with


class _Place(NamedTuple):
    path: str
    expected: Expected


def _manifest(dataset: Dataset) -> dict[str, Any]:
    try:
        manifest = dataset.manifest()
        assert isinstance(manifest["files"], dict)
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise PreparationError(
            f"{dataset.manifest_path} is damaged: {error!r}. mlebench prepare -c {dataset.competition.id} --force "
            "prepares the data again"
        ) from error
    return manifest


def _places(dataset: Dataset, manifest: Mapping[str, Any]) -> dict[str, _Place]:
    """Every file of which we know what it should be, zip excepted."""
    prepared = dataset.prepared
    places = {path: _Place(f"{prepared}/{path}", _expected(facts)) for path, facts in manifest["files"].items()}
    for path, facts in _raw_record(dataset).items():
        places[f"raw/{path}"] = _Place(f"{dataset.raw}/{path}", _expected(facts))
    return places


def _expected(facts: Mapping[str, Any]) -> Expected:
    return Expected(facts["size"], facts["blake3"], facts.get("table", ""))


def _raw_record(dataset: Dataset) -> dict[str, Any]:
    path = raw_record(dataset)
    if not dataset.raw.is_dir() or not path.is_file():
        return {}
    return json.loads(path.read_text(encoding="utf-8"))["files"]


def _zip(dataset: Dataset) -> dict[str, Path]:
    path = dataset.home / f"{dataset.competition.id}.zip"
    return {path.name: path} if path.is_file() else {}


def _md5(dataset: Dataset) -> set[str]:
    return {*published_checksums(dataset), *_zip(dataset)}


def raw_record(dataset: Dataset) -> Path:
    """Where it is written what kept raw files should be."""
    return dataset.home / RAW_RECORD


# --- ours


def _unlike_manifest(
    dataset: Dataset,
    manifest: Mapping[str, Any],
    places: Mapping[str, _Place],
    found: Mapping[str, Digest | OSError],
) -> list[Mismatch]:
    written = _when_written(dataset, manifest)
    wrong = []
    for name, place in places.items():
        digest = found[name]
        if isinstance(digest, Digest) and digest.blake3 == place.expected.blake3:
            continue
        reason = cause(Path(place.path), place.expected, digest, written)
        wrong.append(_mismatch(name, place.expected, digest, reason))
    return wrong + list(_changed_zip(dataset, manifest, found))


def _mismatch(name: str, expected: Expected, found: Digest | OSError | None, reason: Cause) -> Mismatch:
    text = f"blake3 {found.blake3}" if isinstance(found, Digest) else ""
    if isinstance(found, OSError) and not isinstance(found, FileNotFoundError):
        text = found.strerror or str(found)
    return Mismatch(
        name,
        f"blake3 {expected.blake3}",
        text,
        reason.kind,
        reason.hint,
        expected.size,
        found.size if isinstance(found, Digest) else None,
        reason.kind not in NO_FAILURES,
    )


def _when_written(dataset: Dataset, manifest: Mapping[str, Any]) -> float | None:
    """The latest that a prepared file was written by us; None if the files were copied here without their times."""
    there = dataset.manifest_path.stat().st_mtime
    created = datetime.fromisoformat(manifest["created"])
    is_copy = datetime.fromtimestamp(there, UTC) - created > timedelta(hours=1)
    return None if is_copy else there + _LATE


def _changed_zip(
    dataset: Dataset, manifest: Mapping[str, Any], found: Mapping[str, Digest | OSError]
) -> Iterator[Mismatch]:
    """The kept zip, if it is not the one that was downloaded; or not the one that the data were made from."""
    for name, path in _zip(dataset).items():
        known = _record_of_download(path) or manifest.get("zip")
        digest = found[name]
        if not known or (isinstance(digest, Digest) and digest.md5 == known["md5"]):
            continue
        reason = _why_another_zip(path, known, digest)
        size = digest.size if isinstance(digest, Digest) else None
        text = f"md5 {digest.md5}" if isinstance(digest, Digest) else ""
        is_failure = reason.kind not in NO_FAILURES
        yield Mismatch(name, f"md5 {known['md5']}", text, reason.kind, reason.hint, known["size"], size, is_failure)


def _why_another_zip(path: Path, known: Mapping[str, Any], found: Digest | OSError) -> Cause:
    advice = "remove it, and the next preparation that needs it downloads it again"
    if isinstance(found, OSError):
        return Cause("unreadable", f"{found.strerror or found}: the disk may be failing")
    if known["modified"] == path.stat().st_mtime_ns:
        return Cause("decayed", f"not written since it was downloaded: the disk or its cable may be failing; {advice}")
    if found.size < known["size"]:
        return Cause("cut", f"an interrupted copy, or a full disk; {advice}")
    if not is_zipfile(path):
        return Cause("changed", f"it is no zip archive any more; {advice}")
    return Cause("replaced", "somebody put another archive here than the one that the data were made from")


def _record_of_download(path: Path) -> dict[str, Any] | None:
    """What was written down when the zip was downloaded here; None if the user put it there."""
    with suppress(FileNotFoundError, ValueError):
        return json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
    return None


def _extras(dataset: Dataset, manifest: Mapping[str, Any]) -> list[str]:
    return sorted(set(files_in(dataset.prepared)) - set(manifest["files"]) - {_MANIFEST})


def _extra(prepared: Path, path: str) -> Mismatch:
    reason = cause_of_extra(prepared / path)
    size = (prepared / path).stat().st_size
    return Mismatch(path, "", "a file that nobody prepared", reason.kind, reason.hint, None, size)


# --- the published ones


def published_checksums(dataset: Dataset) -> dict[str, str]:
    """The md5 by path that the files must have: none if the data are synthetic or of edition v2."""
    manifest = dataset.manifest()
    if manifest["source"] == "synthetic" or manifest["edition"] != "v1":
        return {}
    return {path: md5 for path, md5 in dataset.competition.checksums.items() if path != "zip"}


def published_mismatches(competition: Competition, prepared: Path) -> list[Mismatch]:
    """Files whose md5 is not the published one; those whose bytes depend on their writer excepted."""
    published = {path: md5 for path, md5 in competition.checksums.items() if path != "zip"}
    found = digests({path: prepared / path for path in published}, needs_md5=published)
    wrong = [_unlike_md5(path, md5, found[path]) for path, md5 in published.items()]
    return [mismatch for mismatch in wrong if mismatch and mismatch.is_failure]


def _unlike_published(
    dataset: Dataset,
    manifest: Mapping[str, Any],
    published: Mapping[str, str],
    found: Mapping[str, Digest | OSError],
    known: set[str],
) -> list[Mismatch]:
    """What is not as published though it is what was prepared, and why; first the zip, from which all else follows."""
    expected = dataset.competition.checksums.get("zip", "")
    archive: Mapping[str, Any] = manifest.get("zip", {}) if published or manifest["source"] == "kaggle" else {}
    is_other = bool(expected and archive and archive["md5"] != expected)
    reason = _why_unlike_published(bool(archive), is_other)
    wrong = []
    for path, md5 in published.items():
        if path not in known and (mismatch := _unlike_md5(path, md5, found.get(path, FileNotFoundError()), reason)):
            wrong.append(mismatch)
    if is_other:
        as_published = bool(published) and not any(mismatch.is_failure for mismatch in wrong)
        hint = "Kaggle changed the archive since the benchmark was published" + (
            "; the prepared files with published checksums are the same nevertheless" if as_published else ""
        )
        name, text = f"{dataset.competition.id}.zip", f"md5 {archive['md5']}"
        is_failure = not as_published and dataset.revision == "v1"  # nothing was published of other editions
        wrong.insert(0, Mismatch(name, f"md5 {expected}", text, "archive", hint, None, archive.get("size"), is_failure))
    return wrong


def _why_unlike_published(knows_archive: bool, is_other: bool) -> Cause:
    if is_other:
        return Cause("follows", "it follows from the archive, which Kaggle changed since the benchmark was published")
    if knows_archive:
        return Cause(
            "preparation", "made from the published archive: a library of another release writes it differently"
        )
    return Cause("published", "the raw files are not those of the published archive, or were edited")


_UNKNOWN = Cause("published", "other raw files than the published ones")


def _unlike_md5(path: str, md5: str, found: Digest | OSError, reason: Cause = _UNKNOWN) -> Mismatch | None:
    if isinstance(found, OSError):
        return Mismatch(path, f"md5 {md5}", "", "missing", "deleted, or not copied along")
    if found.md5 == md5:
        return None
    if path.endswith(".parquet"):
        reason = Cause("writer", "its bytes depend on the release of the program that wrote it, its rows do not")
    is_failure = reason.kind not in NO_FAILURES
    return Mismatch(path, f"md5 {md5}", f"md5 {found.md5}", reason.kind, reason.hint, None, found.size, is_failure)


# --- files and their facts


def files_in(prepared: Path) -> list[str]:
    """The paths of all files below `prepared`, in a fixed order."""
    return list(paths_in(prepared))


def checksums(prepared: Path, paths: Iterable[str], *, with_tables: bool = True) -> dict[str, dict[str, Any]]:
    """Size and blake3 of every file; of Parquet files that were written here also the hash of their table.

    Raises OSError for a file that can't be read.
    """
    facts: dict[str, dict[str, Any]] = {}
    for path, digest in digests({path: f"{prepared}/{path}" for path in paths}).items():
        if isinstance(digest, OSError):
            raise digest
        facts[path] = {"size": digest.size, "blake3": digest.blake3}
        if with_tables and path.endswith(".parquet") and (table := _table_of_ours(prepared / path)):
            facts[path]["table"] = table
    return facts


def _table_of_ours(path: Path) -> str:
    """The hash of the table in a Parquet file that this process may have written; raw ones that are passed on keep
    their bytes, so that reading them once is enough."""
    from mlebench.preparation.verification.parquet_rows import our_writer, table_hash, written_by

    return table_hash(path) if path.stat().st_nlink == 1 and written_by(path) == our_writer() else ""
