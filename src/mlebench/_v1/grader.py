"""v1's grader: what turns a submission and answers into a score, and a score into medals."""

from __future__ import annotations

import json
import logging
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench._v1.utils import import_fn
from mlebench.competition import Competition
from mlebench.errors import CompetitionError, InvalidSubmission, MlebenchError
from mlebench.v1_folder import V1Competition

if TYPE_CHECKING:
    import pandas as pd

    from mlebench.dataset import Dataset
    from mlebench.submission import Validation

logger = logging.getLogger(__name__)
GradeFunction = Callable[[Any, Any], float]


class Grader:
    """A name and a function `(submission, answers) -> score`, both frames as pandas reads the files."""

    def __init__(self, name: str, grade_fn: str | GradeFunction) -> None:
        self.name = name
        self.grade_fn: GradeFunction = import_fn(grade_fn) if isinstance(grade_fn, str) else grade_fn

    @classmethod
    def from_dict(cls, content: Mapping[str, str]) -> Grader:
        """A grader from the keys `name` and `grade_fn` ("module:function")."""
        return cls(content["name"], content["grade_fn"])

    def __call__(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float | None:
        """The score, rounded to 5 decimals; None, and a line in the log, if the submission is invalid.

        Raises CompetitionError if the function itself fails: that is not the submission's fault.
        """
        try:
            return self.score(submission, answers)
        except InvalidSubmission as error:
            logger.warning("Invalid submission: %s", error)
            return None

    def score(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """The score, rounded to 5 decimals. Raises InvalidSubmission, or CompetitionError as calling does."""
        from mlebench.grading import DECIMALS

        try:
            return round(float(self.grade_fn(submission, answers)), DECIMALS)
        except MlebenchError:
            raise
        except Exception as error:
            raise CompetitionError(f"the grader {self.name} failed: {error!r}") from error

    def is_lower_better(self, leaderboard: pd.DataFrame) -> bool:
        """Whether the first score of `leaderboard` is below its last."""
        from mlebench._v1.leaderboards import board_of_rows

        return board_of_rows(leaderboard).lower_is_better

    def rank_score(self, score: float | None, leaderboard: pd.DataFrame) -> dict[str, Any]:
        """The medal that `score` earns, whether it is above the median, and the thresholds: eight keys."""
        from mlebench._v1.leaderboards import board_of_rows, rank_score

        return rank_score(score, board_of_rows(leaderboard))

    def __repr__(self) -> str:
        return f"Grader({self.name!r}, {self.grade_fn!r})"


@dataclass(frozen=True)
class GradeFrames:
    """The grade function of a built-in competition."""

    dataset: Dataset

    def __call__(self, submission: Any, answers: Any) -> float:
        """The unrounded score of two frames, however their columns were typed on the way.

        Raises InvalidSubmission. The frames go through files, so that they are scored as files are.
        """
        competition = self.dataset.competition
        with tempfile.TemporaryDirectory(prefix="mle-bench-") as folder:
            path = _write(submission, Path(folder) / "submission.csv")
            answers_path = _write(answers, Path(folder) / "private" / Path(competition.answers_file).name)
            sample = sample_for(answers_path, self.dataset.sample_submission, competition) or path
            return score_against(path, answers_path, sample, self.dataset)


def score_against(path: Path, answers: Path, sample: Path, dataset: Dataset) -> float:
    """The unrounded score of the file `path` against any answers, its ids being those of `sample`.

    Raises InvalidSubmission, also where a fault shows only beside the answers.
    """
    competition = dataset.competition
    validation = validate_against(path, sample, dataset)
    if validation.table is None:
        raise InvalidSubmission(validation.problems)
    truth = competition_answers(competition, answers)
    try:
        score = competition.score(validation.table, truth)
    except (KeyError, IndexError, ValueError) as error:
        raise InvalidSubmission(f"the submission does not fit the answers: {error}") from error
    if math.isnan(score):
        raise InvalidSubmission("the metric is undefined for these predictions")
    return score


def validate_against(path: Path, sample: Path, dataset: Dataset) -> Validation:
    """Validate the file `path`; the competition's own check needs its public files, so only beside its own sample."""
    from mlebench.submission import validate

    competition = dataset.competition
    if isinstance(competition, V1Competition):
        return competition.validate(path, dataset.sample_submission)
    if sample == path:
        return _validate_form(path, competition)
    check = competition.check_submission if sample == dataset.sample_submission else None
    return validate(path, competition.schema, sample, check)


def _validate_form(path: Path, competition: Competition) -> Validation:
    """Validate a file against its own ids, each taken once: all but the ids is checked."""
    from mlebench.submission import Validation, read_sample, validate

    try:
        own = read_sample(path, competition.schema)
    except CompetitionError as error:
        if isinstance(error.__cause__, InvalidSubmission):
            return Validation(error.__cause__.problems)
        raise
    with tempfile.TemporaryDirectory(prefix="mle-bench-") as folder:
        sample = _write(own.drop_duplicates(competition.schema.id), Path(folder) / "sample.csv")
        return validate(path, competition.schema, sample)


def sample_for(answers: Path, sample: Path, competition: Competition) -> Path | None:
    """Whose ids a submission must have: those of `sample` if it covers the answers, else those of the answers.

    None if the answers have no ids or another form; then only the form of the submission can be validated.
    """
    from mlebench.submission import read_sample

    schema = competition.schema
    truth = competition_answers(competition, answers)
    if not hasattr(truth, "columns") or schema.id not in truth.columns:
        return None
    if sample.is_file() and truth[schema.id].isin(read_sample(sample, schema)[schema.id]).all():
        return sample
    has_form = set(schema.names) <= set(truth.columns) and truth[schema.id].is_unique
    return answers if has_form and answers.suffix.lower() == ".csv" else None


def competition_answers(competition: Competition, path: Path) -> pd.DataFrame:
    """The answers at `path`, read as the competition reads its own."""
    return replace(competition, answers_file=str(path.absolute())).read_answers(path.parent)


def _write(content: Any, path: Path) -> Path:
    """Write a frame as CSV, a list of objects as JSON lines."""
    from mlebench.tables import write_csv

    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        path.write_text("".join(json.dumps(line) + "\n" for line in content), encoding="utf-8")
    else:
        write_csv(content, path)
    return path
