"""Grade reports: the results for good, missing and broken submissions, and whose fault a failure is."""

import json
import math
from datetime import UTC, datetime

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, NotPreparedError, UsageError
from mlebench.grading import GradeReport, aggregate, grade, grade_lines, make_report, read_lines, score_submission

V1_KEYS = [
    "competition_id", "score", "gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold",
    "any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists",
    "valid_submission", "is_lower_better", "created_at", "submission_path",
]  # fmt: skip


@pytest.fixture
def titanic(twins):
    return twins("spaceship-titanic")


def test_a_perfect_submission_wins_gold(titanic):
    report = grade(titanic.private / "test.csv", titanic)
    assert (report.score, report.medal, report.rank, report.percentile) == (1.0, "gold", 1, 1.0)
    assert report.any_medal
    assert report.above_median
    assert report.source == "synthetic"
    sample = score_submission(titanic.sample_submission, titanic)
    assert report.normalized_score == pytest.approx((1 - sample) / (0.82066 - sample))


def test_the_keys_are_v1s_and_ours_after_them(titanic):
    content = grade(titanic.sample_submission, titanic).to_dict()
    assert list(content)[:16] == V1_KEYS
    assert json.loads(json.dumps(content)) == content
    assert all(not isinstance(value, dict | list) for value in content.values())
    assert GradeReport.from_dict({**content, "unknown": 1}).to_dict() == content


@pytest.mark.parametrize(
    ("name", "content", "exists", "reason"),
    [
        ("nothing.csv", None, False, "there is no file"),
        ("answers.txt", "PassengerId,Transported\n", False, "no .csv file"),
        ("empty.CSV", "", True, "is empty"),
        ("bad.csv", "PassengerId,Transported\nx,True\n", True, "is not in the sample submission"),
        ("junk.csv", "\0\0\0", True, "zero bytes"),
    ],
)
def test_a_missing_or_broken_submission_is_a_result(titanic, tmp_path, name, content, exists, reason):
    if content is not None:
        (tmp_path / name).write_text(content)
    report = grade(tmp_path / name, titanic)
    assert (report.score, report.submission_exists, report.valid_submission) == (None, exists, False)
    assert reason in report.reason
    assert report.gold_threshold == 0.82066
    assert report.rank is None
    assert grade(None, titanic).reason == "there is no submission"


def test_not_prepared(tmp_path):
    with pytest.raises(NotPreparedError, match="mlebench prepare"):
        grade(tmp_path / "x.csv", Dataset(catalog.get("spaceship-titanic"), tmp_path))


def test_scores_are_rounded_before_they_are_compared():
    titanic = catalog.get("spaceship-titanic")
    board = titanic.leaderboard
    assert board is not None
    report = make_report(titanic, board.median, submission_exists=True, submission_path="", source="local")
    assert not report.above_median
    assert make_report(titanic, board.gold, submission_exists=True, submission_path="", source="local").gold_medal
    assert math.isclose(board.gold, 0.82066)


def test_a_fault_of_ours_is_not_the_agents(titanic, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(type(titanic.competition), "score", broken)
    with pytest.raises(CompetitionError, match="a bug"):
        grade(titanic.sample_submission, titanic)


def test_many_at_once(titanic, tmp_path):
    lines = [
        "# a comment",
        "",
        json.dumps({"competition_id": "spaceship-titanic", "submission_path": str(titanic.private / "test.csv")}),
        json.dumps({"competition_id": "spaceship-titanic", "submission_path": None, "logs_path": "x"}),
        json.dumps({"competition_id": "spaceship-titanic", "submission_path": str(titanic.sample_submission)}),
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    reports = grade_lines(read_lines(tmp_path / "lines.jsonl"), titanic.data_dir, workers=2)
    assert [report.valid_submission for report in reports] == [True, False, True]
    totals = aggregate(reports)
    assert totals["total_runs"] == 3
    assert totals["total_runs_with_submissions"] == 2
    assert totals["total_gold_medals"] == totals["total_medals"] == 1
    assert [report["score"] for report in totals["competition_reports"]] == [r.score for r in reports]


@pytest.mark.parametrize("line", ["{", "[]", '{"competition_id": "x"}', '"text"'])
def test_a_broken_line_is_named(tmp_path, line):
    (tmp_path / "lines.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(UsageError, match="line 2"):
        read_lines(tmp_path / "lines.jsonl")


def test_from_v1s_sixteen_fields():
    values = dict.fromkeys(V1_KEYS, False) | {"created_at": datetime.now(UTC), "competition_id": "x", "score": None}
    assert GradeReport(**values).edition == "v1"
