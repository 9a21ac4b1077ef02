"""v1's functions on data sets, over the preparation engine."""

from __future__ import annotations

import hashlib
import logging
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from mlebench._v1.leaderboards import leaderboard_files
from mlebench._v1.registry import Competition, Prepare
from mlebench._v1.utils import is_empty, read_csv
from mlebench.competition import Competition as CoreCompetition
from mlebench.competition import PrepareFunction
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from mlebench.preparation.sources import Source

logger = logging.getLogger(__name__)


def is_dataset_prepared(competition: Competition, grading_only: bool = False) -> bool:
    """Whether the files are there: the answers, and, unless only grading is wanted, what an agent sees."""
    if is_empty(competition.private_dir) or not competition.answers.is_file():
        return False
    return grading_only or (not is_empty(competition.public_dir) and competition.sample_submission.is_file())


def not_prepared(competition: Competition) -> ValueError:
    """The error that names the command which prepares the data."""
    data_dir = competition._dataset.data_dir
    return ValueError(
        f"{competition.id} is not prepared in {data_dir}. "
        f'"mlebench prepare -c {competition.id} --data-dir {data_dir}" does it.'
    )


def download_and_prepare_dataset(
    competition: Competition,
    keep_raw: bool = True,
    overwrite_checksums: bool = False,
    overwrite_leaderboard: bool = False,
    skip_verification: bool = False,
) -> None:
    """Prepare the data unless they are there, and compare them with the published checksums.

    Raw files are taken from `raw_dir`, else from `<id>.zip` beside it, else downloaded. `overwrite_checksums`
    skips the comparison as `skip_verification` does; the published checksums themselves never change.
    Raises PreparationError if files are missing, damaged or not the published ones.
    """
    ensure_leaderboard_exists(competition, force=overwrite_leaderboard)
    if is_dataset_prepared(competition):
        logger.info("%s is prepared already", competition.id)
        return
    verify = not (skip_verification or overwrite_checksums)
    _prepare(competition, keep_raw, verify)
    if verify:
        _verify_prepared(competition)


def _prepare(competition: Competition, keep_raw: bool, verify: bool) -> None:
    from mlebench.preparation.engine import prepare
    from mlebench.preparation.sources import discard

    raw_is_there = not is_empty(competition.raw_dir)
    archive = _archive(competition)
    if verify and not raw_is_there and archive.is_file():
        _verify_archive(archive, competition)
    dataset = Dataset(_with_prepare(competition), competition._dataset.data_dir)
    # Raw files that are there already are the source itself: they stay in place, or go when all is done.
    keep = "raw" if keep_raw and not raw_is_there else "nothing"
    prepare(dataset, _source(competition), keep=keep, force=True)  # files that are there are incomplete
    if raw_is_there and not keep_raw:
        discard(competition.raw_dir)


def download_dataset(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:  # noqa: ARG001
    """The zip of a competition in `download_dir`, from Kaggle if it is not there or with `force`.

    Raises UsageError without an account, PreparationError if Kaggle does not give it out.
    """
    path = Path(download_dir) / f"{competition_id}.zip"
    if force or not zipfile.is_zipfile(path):
        from mlebench.preparation.kaggle.client import Client
        from mlebench.preparation.kaggle.download import download

        new = path.with_name(f"{competition_id}.new.zip") if path.exists() else path  # what is there is kept till then
        with Client() as client:
            download(client, competition_id, new)
        new.replace(path)
    return path


def get_leaderboard(competition: Competition) -> pd.DataFrame:
    """The private leaderboard: a row for each team, best first, in a column `score`."""
    if not competition.leaderboard.is_file():
        raise UsageError(f"{competition.id} has no leaderboard")
    return read_csv(competition.leaderboard)


def ensure_leaderboard_exists(competition: Competition, force: bool = False) -> Path:
    """The path of the leaderboard file, written (again, with `force`) if it is missing."""
    if force and competition.leaderboard in leaderboard_files(competition._dataset):
        competition.leaderboard.unlink(missing_ok=True)
    if not competition.leaderboard.is_file():
        leaderboard_files(competition._dataset)
    return competition.leaderboard


def get_checksum(path: Path) -> str:
    """The md5 of a file, in hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def generate_checksums(folder: Path) -> dict[str, str]:
    """The md5 of every file below `folder`, by its path in it."""
    from mlebench.preparation.files import walk

    return {path.relative_to(folder).as_posix(): get_checksum(path) for path in walk(Path(folder))}


@dataclass(frozen=True)
class _PreparedBy(CoreCompetition):
    """A competition that is prepared by another function."""

    prepare_fn: PrepareFunction | None = None

    @property
    def prepare(self) -> PrepareFunction:
        assert self.prepare_fn is not None
        return self.prepare_fn


def _with_prepare(competition: Competition) -> CoreCompetition:
    """The competition, with the `prepare_fn` that this copy of it names."""
    core = competition._dataset.competition
    if isinstance(competition.prepare_fn, Prepare):
        return core
    facts = {field.name: getattr(core, field.name) for field in fields(core)}
    return _PreparedBy(**facts, prepare_fn=competition.prepare_fn)


def _source(competition: Competition) -> Source:
    """Raw files beside the prepared ones, else the zip, else Kaggle (an error where that can't be had)."""
    from mlebench.preparation.sources import Local, find_source

    if not is_empty(competition.raw_dir):
        return Local(competition.raw_dir)
    archive = _archive(competition)
    return Local(archive) if archive.is_file() else find_source("kaggle", data_dir=competition._dataset.data_dir)


def _archive(competition: Competition) -> Path:
    return competition.raw_dir.parent / f"{competition.id}.zip"


def _verify_archive(archive: Path, competition: Competition) -> None:
    expected = competition._dataset.competition.checksums.get("zip")
    if expected and get_checksum(archive) != expected:
        raise PreparationError(f"{archive} is not the published file: its md5 is not {expected}")


def _verify_prepared(competition: Competition) -> None:
    """Compare with the published md5 sums; synthetic data have none."""
    from mlebench.preparation.verification import published_mismatches

    dataset = competition._dataset
    if dataset.is_prepared and dataset.source == "synthetic":
        return
    if wrong := published_mismatches(dataset.competition, dataset.prepared):
        shown = ", ".join(mismatch.path for mismatch in wrong[:5])
        raise PreparationError(f"{competition.id}: {len(wrong)} prepared files are not the published ones: {shown}")
