"""v1's grading functions over `mlebench.grading`."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlebench._v1.data import get_checksum, is_dataset_prepared, not_prepared
from mlebench._v1.grader import GradeFrames, sample_for, score_against, validate_against
from mlebench._v1.leaderboards import board_of_rows, leaderboard_files, rank_score
from mlebench._v1.registry import Competition, Registry
from mlebench._v1.registry import registry as default_registry
from mlebench._v1.utils import get_timestamp, load_answers, read_csv, read_jsonl
from mlebench.errors import InvalidSubmission, UsageError
from mlebench.files import write_json
from mlebench.grading import DECIMALS, GradeReport, aggregate, make_report, score_submission

logger = logging.getLogger(__name__)


def grade_csv(path_to_submission: Path, competition: Competition) -> GradeReport:
    """Grade a submission. A missing, differently named or invalid one is a result, not an exception.

    Raises ValueError if the answers are not prepared, CompetitionError if our own code or data fail.
    """
    if not is_dataset_prepared(competition, grading_only=True):
        raise not_prepared(competition)
    path = Path(path_to_submission)
    score, reason = None, _fault_of_file(path)
    exists = not reason
    if exists:
        try:
            score = _score(path, competition)
        except InvalidSubmission as error:
            reason = str(error)
            logger.warning("Invalid submission: %s", reason)
    manifest = _manifest(competition)
    report = make_report(
        competition._dataset.competition,
        score,
        submission_exists=exists,
        submission_path=str(path),
        source=manifest.get("source", ""),
        reason=reason,
        sample_score=manifest.get("sample_score"),
        board=competition._dataset.leaderboard,
    )
    return _ranked_by_own_leaderboard(report, competition)


def validate_submission(submission: Path, competition: Competition) -> tuple[bool, str]:
    """Whether a submission is valid, and a text for the agent, which depends on no label.

    Raises ValueError if there is nothing to validate against.
    """
    path = Path(submission)
    if reason := _fault_of_file(path):
        return False, f"Submission is invalid: {reason}."
    if not competition.sample_submission.is_file() and not competition.answers.is_file():
        raise not_prepared(competition)
    found = validate_against(path, _sample(competition, path), competition._dataset)
    return found.valid, "Submission is valid." if found.valid else found.message()


def grade_jsonl(path_to_submissions: Path, output_dir: Path, registry: Registry = default_registry) -> Path:
    """Grade every submission that a JSON Lines file names, and write `<timestamp>_grading_report.json`.

    Each line has `competition_id` and `submission_path`; null is a missing submission. Returns the report's path.
    Raises UsageError for a line that lacks a key, or if the parent of `output_dir` is missing.
    """
    reports = [
        grade_csv(Path(str(path)), registry.get_competition(competition_id))
        for competition_id, path in _entries(Path(path_to_submissions))
    ]
    folder = Path(output_dir)
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise UsageError(f"can't make {folder}: there is no folder {folder.parent}") from error
    report = folder / f"{get_timestamp()}_grading_report.json"
    write_json(report, aggregate_reports(reports))
    logger.info("Saved the grading report to %s", report)
    return report


def aggregate_reports(competition_reports: Sequence[GradeReport]) -> dict[str, Any]:
    """The totals of many reports, and the reports themselves as plain dictionaries."""
    return aggregate(competition_reports)


def _entries(path: Path) -> list[tuple[str, str | None]]:
    entries = []
    for line in read_jsonl(path):
        missing = [key for key in ("competition_id", "submission_path") if key not in line]
        if missing:
            raise UsageError(f"{path}: {json.dumps(line)} lacks {' and '.join(missing)}")
        entries.append((line["competition_id"], line["submission_path"]))
    return entries


def _fault_of_file(path: Path) -> str:
    """Why there is no submission at `path`; empty if there is one."""
    if not path.is_file():
        return f"there is no file {path}"
    if path.suffix.lower() != ".csv":
        return f"{path.name} is no .csv file"
    return ""


def _score(path: Path, competition: Competition) -> float:
    """The rounded score, by the grader, answers and sample submission that this copy of a competition names."""
    dataset = competition._dataset
    if not isinstance(competition.grader.grade_fn, GradeFrames):
        return competition.grader.score(read_csv(path), load_answers(competition.answers))
    sample = _sample(competition, path)
    if _has_own_answers(competition) and sample == dataset.sample_submission:
        return score_submission(path, dataset)
    return round(score_against(path, competition.answers, sample, dataset), DECIMALS)


def _sample(competition: Competition, path: Path) -> Path:
    """The file whose ids the submission `path` must have.

    Usually the sample submission. It is the answers where a copy of the competition names other ones, or where
    only the private files are mounted; of answers in another form than a submission nothing is demanded.
    """
    if _has_own_answers(competition) and competition.sample_submission.is_file():
        return competition.sample_submission
    core = competition._dataset.competition
    return sample_for(competition.answers, competition.sample_submission, core) or path


def _has_own_answers(competition: Competition) -> bool:
    dataset = competition._dataset
    return competition.answers == dataset.private / dataset.competition.answers_file


def _manifest(competition: Competition) -> dict[str, Any]:
    """What was written when the data were prepared; empty for data that another program prepared."""
    dataset = competition._dataset
    return dataset.manifest() if dataset.is_prepared else {}


def _ranked_by_own_leaderboard(report: GradeReport, competition: Competition) -> GradeReport:
    """The report as it is, or by the leaderboard file that this copy of a competition names instead of its own."""
    if competition.leaderboard in leaderboard_files(competition._dataset):
        return report
    board = board_of_rows(read_csv(competition.leaderboard))
    score = report.score
    return replace(
        report,
        **rank_score(score, board),
        any_medal=score is not None and board.medal(score) is not None,
        is_lower_better=board.lower_is_better,
        rank=None if score is None else board.rank(score),
        percentile=None if score is None else board.percentile(score),
        num_teams=board.teams,
        normalized_score=None,
        rank_kind=None if score is None else "exact",
        leaderboard_md5=get_checksum(competition.leaderboard),
    )
