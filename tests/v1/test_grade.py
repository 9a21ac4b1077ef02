import copy
import dataclasses
import json
import logging
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlebench import grading
from mlebench.data import get_leaderboard
from mlebench.errors import CompetitionError, MlebenchError
from mlebench.grade import aggregate_reports, grade_csv, grade_jsonl, validate_submission
from mlebench.grade_helpers import CompetitionReport, Grader, InvalidSubmissionError
from mlebench.registry import Registry
from mlebench.utils import load_answers, read_csv

FIELDS = {
    "competition_id": "spaceship-titanic",
    "score": 0.5,
    "gold_threshold": 0.9,
    "silver_threshold": 0.8,
    "bronze_threshold": 0.7,
    "median_threshold": 0.6,
    "any_medal": False,
    "gold_medal": False,
    "silver_medal": False,
    "bronze_medal": False,
    "above_median": False,
    "submission_exists": True,
    "valid_submission": True,
    "is_lower_better": False,
    "created_at": datetime(2025, 1, 2, tzinfo=UTC),
    "submission_path": "submission.csv",
}


@pytest.fixture
def answers(competition):
    return read_csv(competition.answers)


@pytest.fixture
def perfect(answers, tmp_path):
    path = tmp_path / "submission.csv"
    answers[["PassengerId", "Transported"]].to_csv(path, index=False)
    return path


@pytest.fixture
def invalid(answers, tmp_path):
    path = tmp_path / "invalid.csv"
    answers[["PassengerId"]].to_csv(path, index=False)
    return path


def test_the_report_is_made_of_16_keywords():
    report = CompetitionReport(**FIELDS)
    assert [field.name for field in dataclasses.fields(report)][:16] == list(FIELDS)
    content = json.loads(json.dumps(report.to_dict()))
    assert list(content)[:16] == list(FIELDS)
    assert content["created_at"] == "2025-01-02T00:00:00+00:00"
    assert not any(isinstance(value, dict | list) for value in content.values())
    assert CompetitionReport.from_dict({**content, "unknown": 1}) == report
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.score = 1.0


def test_a_perfect_submission_wins_gold(competition, perfect):
    report = grade_csv(perfect, competition)
    assert isinstance(report, CompetitionReport)
    assert (report.score, report.gold_medal, report.any_medal, report.above_median) == (1.0, True, True, True)
    assert (report.submission_exists, report.valid_submission, report.is_lower_better) == (True, True, False)
    assert report.submission_path == str(perfect)
    assert report.source == "synthetic"


def test_a_report_equals_that_of_the_library(competition, twins):
    ours = grading.grade(competition.sample_submission, twins("spaceship-titanic"))
    report = grade_csv(competition.sample_submission, competition)
    assert dataclasses.replace(report, created_at=ours.created_at) == ours


def test_scores_are_rounded_to_5_decimals(competition, answers, tmp_path):
    labels = answers["Transported"].to_numpy().copy()
    labels[:7] = ~labels[:7]
    answers.assign(Transported=labels).to_csv(tmp_path / "s.csv", index=False)
    assert grade_csv(tmp_path / "s.csv", competition).score == round(1 - 7 / len(answers), 5)


@pytest.mark.parametrize("name", ["None", "missing.csv", "submission.txt", "folder.csv"])
def test_no_submission_is_a_result_with_thresholds(name, competition, perfect, tmp_path):
    shutil.copy(perfect, tmp_path / "submission.txt")
    (tmp_path / "folder.csv").mkdir()
    report = grade_csv(tmp_path / name, competition)
    assert (report.score, report.submission_exists, report.valid_submission) == (None, False, False)
    assert (report.gold_threshold, report.median_threshold) == (0.82066, 0.79565)
    assert report.any_medal is False


def test_the_suffix_may_have_any_case(competition, perfect):
    path = perfect.rename(perfect.with_suffix(".CSV"))
    assert grade_csv(path, competition).score == 1.0
    assert validate_submission(path, competition) == (True, "Submission is valid.")


def test_an_invalid_submission_is_logged_and_has_no_score(competition, invalid, caplog):
    with caplog.at_level(logging.WARNING):
        report = grade_csv(invalid, competition)
    assert (report.score, report.submission_exists, report.valid_submission) == (None, True, False)
    assert report.gold_threshold == 0.82066
    assert [record for record in caplog.messages if re.match(r"Invalid submission: .*Transported", record)]


def test_unprepared_data_name_the_command(unprepared, perfect):
    for function in (grade_csv, validate_submission):
        with pytest.raises(ValueError, match="mlebench prepare -c spaceship-titanic"):
            function(perfect, unprepared)


def test_validation(competition, perfect, invalid, tmp_path):
    assert validate_submission(perfect, competition) == (True, "Submission is valid.")
    text = tmp_path / "submission.txt"
    text.write_text("")
    faults = [validate_submission(path, competition) for path in (tmp_path / "missing.csv", text, invalid)]
    assert [valid for valid, _ in faults] == [False] * 3
    assert len({message for _, message in faults}) == 3
    assert all("invalid" in message and "Submission is valid." not in message for _, message in faults)


def test_validation_needs_no_labels(competition, perfect, tmp_path):
    public = tmp_path / "data" / "spaceship-titanic" / "prepared" / "public"
    shutil.copytree(competition.public_dir, public)
    without = Registry(tmp_path / "data").get_competition("spaceship-titanic")
    assert validate_submission(perfect, without) == (True, "Submission is valid.")
    with pytest.raises(ValueError, match="not prepared"):
        grade_csv(perfect, without)


def test_private_files_alone_are_enough_to_grade_and_to_validate(competition, perfect, invalid, tmp_path):
    private = tmp_path / "data" / "spaceship-titanic" / "prepared" / "private"
    shutil.copytree(competition.private_dir, private)
    mounted = Registry(tmp_path / "data").get_competition("spaceship-titanic")
    assert grade_csv(perfect, mounted).score == 1.0
    assert validate_submission(perfect, mounted) == (True, "Submission is valid.")
    assert validate_submission(invalid, mounted)[0] is False
    table = read_csv(perfect)
    table.iloc[1:].to_csv(perfect, index=False)
    assert grade_csv(perfect, mounted).score is None


# --- copies of a competition


@pytest.fixture
def hidden(competition, tmp_path):
    """A copy that is graded against a part of the training data."""
    train = read_csv(competition.public_dir / "train.csv").head(50)
    train.to_csv(tmp_path / "hidden.csv", index=False)
    hidden = copy.copy(competition)
    object.__setattr__(hidden, "answers", tmp_path / "hidden.csv")
    return hidden


def test_a_copy_is_graded_against_its_own_answers(hidden, competition, perfect, tmp_path):
    table = read_csv(hidden.answers)[["PassengerId", "Transported"]]
    table["Transported"] = table["Transported"] ^ (np.arange(50) < 5)
    table.to_csv(tmp_path / "s.csv", index=False)
    assert grade_csv(tmp_path / "s.csv", hidden).score == 0.9
    assert validate_submission(tmp_path / "s.csv", hidden) == (True, "Submission is valid.")
    assert grade_csv(tmp_path / "s.csv", competition).score is None  # the original is as it was
    assert grade_csv(perfect, hidden).score is None  # these are other passengers
    table.iloc[1:].to_csv(tmp_path / "s.csv", index=False)
    assert grade_csv(tmp_path / "s.csv", hidden).score is None


def test_other_labels_of_the_same_rows_count(competition, answers, perfect, tmp_path):
    labels = ~answers["Transported"].to_numpy()
    answers.assign(Transported=labels).to_csv(tmp_path / "flipped.csv", index=False)
    flipped = dataclasses.replace(competition, answers=tmp_path / "flipped.csv")
    assert grade_csv(perfect, flipped).score == 0.0


def test_answers_of_another_form_are_no_crash(competition, perfect, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    odd = dataclasses.replace(competition, answers=tmp_path / "odd.csv")
    assert grade_csv(perfect, odd).score is None
    twice = pd.concat([read_csv(perfect)] * 2)
    twice.to_csv(perfect, index=False)
    assert "stands there already" in grade_csv(perfect, odd).reason
    perfect.write_bytes(b"\0")
    assert grade_csv(perfect, odd).score is None


def test_a_copy_is_ranked_by_its_own_leaderboard(competition, perfect, tmp_path):
    (tmp_path / "board.csv").write_text("score\n" + "".join(f"{place}\n" for place in range(1000)))
    report = grade_csv(perfect, dataclasses.replace(competition, leaderboard=tmp_path / "board.csv"))
    assert (report.gold_threshold, report.median_threshold) == (11.0, 499.5)
    assert (report.is_lower_better, report.gold_medal, report.num_teams) == (True, True, 1000)


def count_rows(submission, answers):
    if len(submission) != len(answers):
        raise InvalidSubmissionError(f"{len(submission)} rows")
    return len(submission) / 3


def test_a_copy_is_graded_by_its_own_grader(competition, perfect, answers, monkeypatch):
    own = dataclasses.replace(competition, grader=Grader("rows", count_rows))
    assert grade_csv(perfect, own).score == round(len(answers) / 3, 5)
    read_csv(perfect).iloc[1:].to_csv(perfect, index=False)
    report = grade_csv(perfect, own)
    assert (report.score, report.reason) == (None, f"{len(answers) - 1} rows")


# --- graders


def test_a_grader_scores_frames(competition, perfect, answers):
    grader = competition.grader
    assert grader(read_csv(perfect), load_answers(competition.answers)) == 1.0
    assert grader(pd.read_csv(perfect), pd.read_csv(competition.answers)) == 1.0
    assert grader.grade_fn(read_csv(perfect), answers) == 1.0


def test_frames_of_other_rows_are_scored(competition):
    train = read_csv(competition.public_dir / "train.csv").head(30)
    guess = train[["PassengerId"]].assign(Transported=True)
    assert competition.grader.grade_fn(guess, train) == train["Transported"].mean()  # not rounded
    assert competition.grader(guess, train) == round(train["Transported"].mean(), 5)
    assert competition.grader(guess.iloc[1:], train) is None


def test_an_invalid_frame_gives_none_or_raises(competition, answers, caplog):
    submission = answers[["PassengerId"]]
    assert competition.grader(submission, answers) is None
    assert caplog.messages[-1].startswith("Invalid submission:")
    with pytest.raises(InvalidSubmissionError, match="Transported"):
        competition.grader.grade_fn(submission, answers)


def test_a_grader_ranks(competition):
    table = get_leaderboard(competition)
    assert competition.grader.is_lower_better(table) is False
    ranks = competition.grader.rank_score(0.82066, table)
    assert set(ranks) == {f"{name}_medal" for name in ("gold", "silver", "bronze")} | {"above_median"} | {
        f"{name}_threshold" for name in ("gold", "silver", "bronze", "median")
    }
    assert ranks["gold_medal"] is True
    assert ranks["silver_medal"] is False


def test_graders_are_named_by_module_and_function():
    for grader in (Grader("hypot", "math:hypot"), Grader.from_dict({"name": "hypot", "grade_fn": "math:hypot"})):
        assert grader.name == "hypot"
        assert grader(3, 4) == 5.0
    with pytest.raises(ValueError, match="module:function"):
        Grader("hypot", "math.hypot")


def test_a_faulty_grader_is_not_the_submissions_fault():
    with pytest.raises(CompetitionError, match="divmod"):
        Grader("divmod", divmod)(1, 0)


def test_the_error_takes_a_plain_text():
    with pytest.raises(InvalidSubmissionError, match="too few rows") as caught:
        raise InvalidSubmissionError("too few rows")
    assert str(caught.value) == "too few rows"


# --- many submissions


def test_grade_jsonl(competition, perfect, tmp_path):
    lines = [
        "# a comment",
        json.dumps({"competition_id": competition.id, "submission_path": str(perfect), "logs_path": "x"}),
        "",
        json.dumps({"competition_id": competition.id, "submission_path": None}),
        "// another",
    ]
    (tmp_path / "submissions.jsonl").write_text("\n".join(lines))
    registry = Registry(competition.raw_dir.parents[1])
    grade_jsonl(tmp_path / "submissions.jsonl", tmp_path / "out", registry)
    (path,) = (tmp_path / "out").glob("*_grading_report.json")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(GMT|UTC)_grading_report.json", path.name)
    report = json.loads(path.read_text())
    totals = {key: value for key, value in report.items() if key != "competition_reports"}
    assert totals == {
        "total_runs": 2,
        "total_runs_with_submissions": 1,
        "total_valid_submissions": 1,
        "total_medals": 1,
        "total_gold_medals": 1,
        "total_silver_medals": 0,
        "total_bronze_medals": 0,
        "total_above_median": 1,
    }
    assert [run["submission_path"] for run in report["competition_reports"]] == [str(perfect), "None"]


def test_the_parent_of_the_output_must_exist(tmp_path):
    (tmp_path / "submissions.jsonl").write_text("")
    with pytest.raises(MlebenchError, match="there is no folder"):
        grade_jsonl(tmp_path / "submissions.jsonl", tmp_path / "a" / "b")


@pytest.mark.parametrize("line", ['{"competition_id": "spaceship-titanic"}', "[1]", "{"])
def test_a_faulty_line_is_named(line, tmp_path):
    path = tmp_path / "submissions.jsonl"
    path.write_text(line)
    with pytest.raises(MlebenchError, match=re.escape(str(path))):
        grade_jsonl(path, tmp_path)


def test_aggregate_reports():
    report = CompetitionReport(**FIELDS)
    silver = dataclasses.replace(report, any_medal=True, silver_medal=True)
    totals = aggregate_reports([report, silver])
    assert (totals["total_runs"], totals["total_medals"], totals["total_silver_medals"]) == (2, 1, 1)
    assert totals["competition_reports"] == [report.to_dict(), silver.to_dict()]


def test_validating_again_is_fast(competition):
    """Search agents validate thousands of times."""
    import time

    path = Path(competition.sample_submission)
    validate_submission(path, competition)
    start = time.process_time()
    for _ in range(10):
        validate_submission(path, competition)
    assert (time.process_time() - start) / 10 < 0.05
