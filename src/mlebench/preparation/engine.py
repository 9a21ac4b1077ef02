"""Prepare one competition: whole or not at all, and going on where a killed call stopped.

Its stages, all under a lock: download (`obtain`), raw files (`fetch`), the competition's own `prepare` in a temporary
folder beside the target, manifest, renaming into place, removing what is not kept. What a killed process leaves is
either gone on with (a download, raw files half unpacked or whole, the moves of the last stage) or cleared away by the
next call; nothing that is not whole ever looks prepared.
"""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mlebench.competition import Competition
from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import CompetitionError, MlebenchError, PreparationError
from mlebench.files import nearest_existing, write_json
from mlebench.preparation import progress
from mlebench.preparation.adoption import adopt
from mlebench.preparation.commit import Plan, commit, has_leftovers, recover, remove, throw_away_fetched
from mlebench.preparation.kept_raw import find_damage, record_raw, source_facts
from mlebench.preparation.layout import FETCHING, LOCK, ORIGIN, RAW_RECORD, SCRATCH, WORK
from mlebench.preparation.locks import Lock, held, held_if_free, require_held
from mlebench.preparation.manifest import complete
from mlebench.preparation.sources import (
    Adopting,
    Downloading,
    Keep,
    Keeping,
    Resumable,
    Source,
    holds_strangers_files,
    is_prepared_from,
)
from mlebench.preparation.verification import published_mismatches


def prepare(dataset: Dataset, source: Source, *, keep: Keep = "nothing", force: bool = False) -> bool:
    """Prepare the data of a competition from `source`; False if they were there already.

    `keep` is what stays beside the prepared files: "zip" what was downloaded, "raw" the raw files. A download whose
    prepared files are not the published ones stays in any case, and the manifest names these files. What one call
    keeps no later one removes, and kept raw files serve it in the place of a download; with `force` they are read
    first, and fetched anew if they are damaged. Prepared data of another source are replaced only with `force`.

    What the original prepared in the same place is taken over, if it is as published. Raises PreparationError if
    raw files are missing or damaged or the disk is full, CompetitionError if the competition's own code fails.
    """
    if not force and is_prepared_from(dataset, source):
        _tidy(dataset, source)
        return False
    with _full_disk_named(dataset):
        dataset.home.mkdir(parents=True, exist_ok=True)
        with held(dataset.home / LOCK, f"{dataset.competition.id}: preparing") as lock:
            recover(dataset.home, lambda: _discard(source, dataset.competition))
            if not force and is_prepared_from(dataset, source):  # by another process, or before this one was killed
                return False
            _Preparation(dataset, source, keep, force, lock).run()
    return True


def _tidy(dataset: Dataset, source: Source) -> None:
    """Clear away what a killed call left beside prepared data, unless somebody works there."""
    if has_leftovers(dataset.home):
        with suppress(OSError), held_if_free(dataset.home / LOCK) as free:  # others' data may be there to be read only
            if free:
                recover(dataset.home, lambda: _discard(source, dataset.competition))


def _discard(source: Source, competition: Competition) -> None:
    if isinstance(source, Downloading):
        source.discard(competition)


@contextmanager
def _full_disk_named(dataset: Dataset) -> Iterator[None]:
    """Whatever fails for lack of disk says so, however deep in a library it happened."""
    try:
        yield
    except Exception as error:
        if not _is_full_disk(error):
            raise
        free = shutil.disk_usage(nearest_existing(dataset.home)).free
        raise PreparationError(
            f"{dataset.competition.id}: the disk of {dataset.home} is full ({free:,} bytes are free). Nothing is "
            "broken: free some or choose another --data-dir, and the same command goes on"
        ) from error


def _is_full_disk(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


class _Preparation:
    """One preparation under way; the lock of the competition's folder is held."""

    def __init__(self, dataset: Dataset, source: Source, keep: Keep, force: bool, lock: Lock) -> None:
        self._dataset, self._competition, self._home = dataset, dataset.competition, dataset.home
        self._source, self._keep, self._force, self._lock = source, keep, force, lock

    def run(self) -> None:
        work = Path(tempfile.mkdtemp(prefix=WORK, dir=self._home))
        try:
            plan = self._make(work)
            require_held(self._lock)
            commit(self._home, plan, lambda: _discard(self._source, self._competition))
        except PreparationError as error:
            if not _is_full_disk(error):  # the same raw files would fail again
                throw_away_fetched(self._home)
            raise
        finally:
            remove(work)

    def _make(self, work: Path) -> Plan:
        """Fill `work`/prepared with a whole data set; returns what to do with it and all else."""
        prepared = work / "prepared"
        for side in ("public", "private"):
            (prepared / side).mkdir(parents=True)
        if home := self._prepared_already():
            raw, facts = None, {"source": "local", "path": str(home)} | adopt(home, self._dataset, prepared)
            is_kept = False
        else:
            mends = self._force and find_damage(self._home, self._source.name)
            raw = self._raw(work)
            is_kept = (self._keep == "raw" or mends) and not self._is_kept_already(raw)
            self._prepare(raw, prepared)
            facts = self._source.describe()
        unlike = self._unlike_published(prepared)
        complete(self._dataset, prepared, facts | ({"unlike_published": unlike} if unlike else {}))
        if raw and (self._keep == "zip" or unlike) and isinstance(self._source, Keeping):
            self._source.keep(self._competition)
        return Plan(
            made=prepared.relative_to(self._home).as_posix(),
            target=self._dataset.prepared.name,
            raw=raw.relative_to(self._home).as_posix() if raw and is_kept else "",
            discards=isinstance(self._source, Downloading) and self._keep != "zip" and not unlike,
            raw_record=self._record(raw, work, facts) if raw and is_kept else "",
        )

    def _record(self, raw: Path, work: Path, facts: Mapping[str, object]) -> str:
        """Write down what the raw files are, to be put beside them; returns the path below the competition's folder."""
        record, prepared = work / RAW_RECORD, work / "prepared"
        made = read_manifest(prepared)["files"]
        record_raw(raw, prepared, made, source_facts(self._competition, facts), record)
        return record.relative_to(self._home).as_posix()

    def _prepared_already(self) -> Path | None:
        """A folder as in a data directory whose prepared files are to be taken over; None: prepare from raw files."""
        if isinstance(self._source, Adopting) and (home := self._source.prepared(self._competition)):
            is_itself = self._force and home.resolve() == self._home.resolve()
            return None if is_itself else home
        if self._force or not holds_strangers_files(self._dataset):
            return None
        if self._source.name == "synthetic":
            raise PreparationError(
                f"{self._dataset.prepared} holds files that another program prepared; --force prepares synthetic ones "
                "in their place, --data-dir puts these elsewhere"
            )
        return self._home

    def _raw(self, work: Path) -> Path:
        """The folder with the raw files."""
        if isinstance(self._source, Downloading):
            self._source.obtain(self._competition)
        with progress.step(f"{self._competition.id}: fetching raw files ({self._source.name})", 1):
            if isinstance(self._source, Resumable):
                return self._gone_on_with(self._source)
            raw = work / "raw"
            raw.mkdir()
            self._source.fetch(self._competition, raw)
            return raw

    def _gone_on_with(self, source: Resumable) -> Path:
        """The raw files, of which an interrupted call may have fetched a part or all."""
        raw, record = self._home / FETCHING, self._home / ORIGIN
        begun = {"source": source.name, "origin": source.origin(self._competition)}
        known = _read(record)
        if not raw.is_dir() or {key: known.get(key) for key in begun} != begun:
            throw_away_fetched(self._home)
            raw.mkdir()
            known = {}
            write_json(record, begun)
        if not known.get("whole") or known["whole"] != _this_boot():
            remove(raw / SCRATCH)
            source.fetch(self._competition, raw)
            if type(self._competition) is Competition:  # others, of v1's form, may change raw files in place
                write_json(record, begun | {"whole": _this_boot()})
            else:
                record.unlink()
        return raw

    def _prepare(self, raw: Path, prepared: Path) -> None:
        with progress.step(f"{self._competition.id}: preparing", 1):
            try:
                run_prepare(self._competition, raw, prepared / "public", prepared / "private")
            except PreparationError as error:
                if _is_full_disk(error) or not isinstance(self._source, Downloading) or not self._is_kept_already(raw):
                    raise
                advice = f"--force reads those that are kept in {self._dataset.raw}, and fetches them anew if damaged"
                raise PreparationError(f"{error}. {advice}") from error

    def _unlike_published(self, prepared: Path) -> list[str]:
        """The files that are not the published ones; asked only where a download would be removed otherwise."""
        if not isinstance(self._source, Downloading) or self._keep == "zip" or self._dataset.revision != "v1":
            return []
        return [mismatch.path for mismatch in published_mismatches(self._competition, prepared)]

    def _is_kept_already(self, raw: Path) -> bool:
        """Whether raw files are merely links to those that are kept already."""
        kept = self._dataset.raw.resolve()
        links = (entry.resolve() for entry in raw.iterdir() if entry.is_symlink())
        return any(kept in link.parents for link in links)


def _read(record: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        return json.loads(record.read_text(encoding="utf-8"))
    return {}


def _this_boot() -> str:
    """Names the time since this machine was started; empty if it can't be told.

    Files survive the death of the process that wrote them, but not always that of the machine: whole raw files are
    believed to be whole until the next start, and compared with the archive after it.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def run_prepare(competition: Competition, raw: Path, public: Path, private: Path) -> None:
    """Call the competition's `prepare`, naming the culprit of whatever goes wrong."""
    try:
        competition.prepare(raw=raw, public=public, private=private)
    except MlebenchError:
        raise
    except FileNotFoundError as error:
        missing = Path(str(error.filename))
        name = missing.relative_to(raw) if missing.is_relative_to(raw) else missing
        raise PreparationError(f"{competition.id}: the raw file {name} is missing") from error
    except KeyError as error:
        raise PreparationError(f"{competition.id}: a raw file lacks a column: {error.args[0]}") from error
    except (ValueError, OSError) as error:
        raise PreparationError(f"{competition.id}: the raw files can't be prepared: {error}") from error
    except Exception as error:
        raise CompetitionError(f"{competition.id}: prepare failed: {error!r}") from error
