"""Submission + answers -> score -> GradeReport; many at once."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench import catalog
from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, InvalidSubmission, MlebenchError, UsageError
from mlebench.leaderboard import Leaderboard
from mlebench.submission import Problem, Validation

if TYPE_CHECKING:
    import pandas as pd

DECIMALS = 5


@dataclass(frozen=True)
class GradeReport:
    """What a submission is worth. The first 16 fields and their order are edition v1's; all values are plain."""

    competition_id: str
    score: float | None
    gold_threshold: float | None
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str
    edition: str = "v1"
    source: str = ""  # kaggle, local or synthetic; a synthetic score says nothing about humans
    reason: str = ""  # why the submission is not valid
    rank: int | None = None  # place among the humans
    percentile: float | None = None  # share of the humans it is at least as good as
    num_teams: int | None = None
    normalized_score: float | None = None  # 0 for the sample submission, 1 for the gold threshold
    rank_kind: str | None = None  # "exact" if the score of every team is known, else "estimated"
    leaderboard_md5: str = ""  # of the file with the score of every team, if there was one

    @property
    def medal(self) -> str | None:
        """gold, silver, bronze or None."""
        return next((name for name in ("gold", "silver", "bronze") if getattr(self, f"{name}_medal")), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; the time as an ISO string."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> GradeReport:
        """The inverse of `to_dict`; unknown keys are ignored."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in content.items() if key in known}
        if isinstance(values["created_at"], str):
            values["created_at"] = datetime.fromisoformat(values["created_at"])
        return cls(**values)


def validate_submission(path: Path, dataset: Dataset) -> Validation:
    """Validate a submission against the public files of `dataset`; no label is read."""
    return dataset.competition.validate(path, dataset.public_sample)


def score_submission(path: Path, dataset: Dataset) -> float:
    """The score of a submission, rounded to 5 decimals.

    Raises InvalidSubmission with all problems, CompetitionError if our own code or data fail.
    """
    validation = validate_submission(path, dataset)
    if validation.table is None:
        raise InvalidSubmission(validation.problems)
    return score_valid(validation.table, dataset)


def score_valid(table: pd.DataFrame, dataset: Dataset) -> float:
    """The score, rounded to 5 decimals, of a submission that was validated; `table` is the validation's.

    Raises InvalidSubmission for faults that show only beside the answers, CompetitionError if our own code or
    data fail.
    """
    competition = dataset.competition
    try:
        score = competition.score(table, competition.read_answers(dataset.private))
    except MlebenchError:
        raise
    except Exception as error:
        raise CompetitionError(f"grading {competition.id} failed on a valid submission: {error!r}") from error
    if math.isnan(score):
        raise InvalidSubmission([Problem("undefined score", "the metric is undefined for these predictions")])
    return round(score, DECIMALS)


def grade(path: Path | None, dataset: Dataset) -> GradeReport:
    """Grade the submission at `path`. A missing or invalid one is a result, not an exception.

    Raises NotPreparedError if there are no answers, CompetitionError if our own code or data fail.
    """
    manifest = dataset.manifest()
    exists = path is not None and path.is_file() and path.suffix.lower() == ".csv"
    score, reason = None, ""
    if path is None:
        reason = "there is no submission"
    elif not path.is_file():
        reason = f"there is no file {path}"
    elif not exists:
        reason = f"{path.name} is no .csv file"
    else:
        try:
            score = score_submission(path, dataset)
        except InvalidSubmission as error:
            reason = str(error)
    return make_report(
        dataset.competition,
        score,
        submission_exists=exists,
        submission_path=str(path),
        source=manifest["source"],
        reason=reason,
        sample_score=manifest.get("sample_score"),
        board=dataset.leaderboard,
    )


def make_report(
    competition: Competition,
    score: float | None,
    *,
    submission_exists: bool,
    submission_path: str,
    source: str,
    reason: str = "",
    sample_score: float | None = None,
    board: Leaderboard | None = None,
) -> GradeReport:
    """Place `score` (rounded, None if there is none) among the humans of `board`, else of the published leaderboard."""
    board = board or competition.leaderboard
    medal = board.medal(score) if board and score is not None else None
    return GradeReport(
        competition_id=competition.id,
        score=score,
        gold_threshold=board.gold if board else None,
        silver_threshold=board.silver if board else None,
        bronze_threshold=board.bronze if board else None,
        median_threshold=board.median if board else None,
        any_medal=medal is not None,
        gold_medal=medal == "gold",
        silver_medal=medal == "silver",
        bronze_medal=medal == "bronze",
        above_median=board is not None and score is not None and board.better(score, board.median),
        submission_exists=submission_exists,
        valid_submission=score is not None,
        is_lower_better=board.lower_is_better if board else not competition.metric.higher_is_better,
        created_at=datetime.now(UTC),
        submission_path=submission_path,
        edition=competition.revision,
        source=source,
        reason=reason,
        rank=board.rank(score) if board and score is not None else None,
        percentile=board.percentile(score) if board and score is not None else None,
        num_teams=board.teams if board else None,
        normalized_score=_normalized(score, sample_score, board.gold if board else None),
        rank_kind=("exact" if board.is_exact else "estimated") if board and score is not None else None,
        leaderboard_md5=board.md5 if board else "",
    )


def _normalized(score: float | None, sample: float | None, gold: float | None) -> float | None:
    """(score - sample) / (gold - sample); None where it is undefined (the paper's section on familiarity)."""
    if score is None or sample is None or gold is None or gold == sample or not math.isfinite(score):
        return None
    return (score - sample) / (gold - sample)


def aggregate(reports: Iterable[GradeReport]) -> dict[str, Any]:
    """The totals of v1's grading report, and the single reports."""
    reports = list(reports)
    return {
        "total_runs": len(reports),
        "total_runs_with_submissions": _count(reports, "submission_exists"),
        "total_valid_submissions": _count(reports, "valid_submission"),
        "total_medals": _count(reports, "any_medal"),
        "total_gold_medals": _count(reports, "gold_medal"),
        "total_silver_medals": _count(reports, "silver_medal"),
        "total_bronze_medals": _count(reports, "bronze_medal"),
        "total_above_median": _count(reports, "above_median"),
        "competition_reports": [report.to_dict() for report in reports],
    }


def _count(reports: Sequence[GradeReport], flag: str) -> int:
    return sum(bool(getattr(report, flag)) for report in reports)


def read_lines(path: Path) -> list[tuple[str, Path | None]]:
    """Competition id and submission of each line of a JSON-lines file; a missing submission is None.

    Empty lines and comments (# or //) are skipped; relative paths are those of the working directory. Raises
    UsageError that names the line.
    """
    entries: list[tuple[str, Path | None]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "//")):
            continue
        try:
            content = json.loads(line)
            submission = content["submission_path"]
            entries.append((content["competition_id"], Path(submission) if submission else None))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}, line {number}: no object with competition_id and submission_path") from error
    return entries


def grade_lines(
    entries: Sequence[tuple[str, Path | None]],
    data_dir: Path,
    folders: tuple[Path, ...] = (),
    workers: int | None = None,
    edition: str = "v1",
) -> list[GradeReport]:
    """Grade many submissions in parallel processes, in the order of `entries`.

    Raises UsageError or NotPreparedError for the first competition that isn't there, before grading any.
    """
    datasets = [
        Dataset(catalog.get(competition_id, folders).in_edition(edition), data_dir) for competition_id, _ in entries
    ]
    for dataset in datasets:
        dataset.manifest()
    jobs = [
        (str(path) if path else None, dataset.competition.id, data_dir, folders, edition)
        for dataset, (_, path) in zip(datasets, entries, strict=True)
    ]
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        return [_grade_job(job) for job in jobs]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_grade_job, jobs))


def _grade_job(job: tuple[str | None, str, Path, tuple[Path, ...], str]) -> GradeReport:
    path, competition_id, data_dir, folders, edition = job
    dataset = Dataset(catalog.get(competition_id, folders).in_edition(edition), data_dir)
    return grade(Path(path) if path else None, dataset)
