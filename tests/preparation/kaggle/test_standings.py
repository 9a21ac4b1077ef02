"""Rows of leaderboards, whatever their columns and numbers look like."""

import io
import zipfile

import pytest

from mlebench.preparation.kaggle.numerals import numbers
from mlebench.preparation.kaggle.standings import NotUnderstood, teams_of_csv, teams_of_zip


def zipped(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_csv", ".csv"), text)
    return content.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,TeamMemberUserNames",
        "#,teamId,team_name,submissionDate,privateScore,score,x",
        "rank,Team ID,Team,Submission Date,scoreNullable,entries,members",
    ],
)
def test_columns_are_known_by_their_names(header):
    teams = teams_of_csv(f'{header}\n1,7,"a, ""b""\nc",2020-01-02,0.5,9,x\n2,8,d,,,1,y\n\n')
    assert [(team.id, team.name, team.score, team.submitted) for team in teams] == [
        ("7", 'a, "b"\nc', 0.5, "2020-01-02"),
        ("8", "d", None, ""),
    ]


def test_separators_marks_and_decimal_commas():
    (team,) = teams_of_zip(zipped(board_csv="\ufeffTeamId;TeamName;Score\r\n1;a;0,25\r\n"))
    assert (team.name, team.score) == ("a", 0.25)


def test_of_several_tables_the_private_one_counts():
    (team,) = teams_of_zip(zipped(a_csv="Score\n1\n", **{"privateBoard_csv": "Score\n2\n", "readme.txt": ""}))
    assert team.score == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (zipped(board_csv="Rank,Team\n1,a\n"), "no column for scores; its columns are 'Rank', 'Team'"),
        (zipped(board_csv=""), "empty"),
        (zipped(board_csv="TeamId,Score\n1,0.5\n2\n"), "line 3"),
        (zipped(board_csv="TeamId,Score\n1,0.5\n2,high\n"), "'high' is no number"),
        (zipped(board_csv="TeamId,Score\n1,0.5\n1,0.6\n2,0.1\n"), "2 rows for the team 1, so it is a list of subm"),
        (zipped(board_csv=b"TeamName,Score\n\xff\xfe,1\n"), "UTF-8"),
        (zipped(a_csv="Score\n1\n", b_csv="Score\n1\n"), "holds a.csv, b.csv"),
        (zipped(), "holds nothing"),
        (zipped(board_csv="Score\n1\n" * 99)[:-30], "no zip archive"),
        (b"<html></html>", "no zip archive"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_reason(content, told):
    with pytest.raises(NotUnderstood, match=told):
        teams_of_zip(content)


def test_a_damaged_member_is_refused():
    content = zipped(board_csv="Score\n" + "".join(f"{n / 7}\n" for n in range(999)))
    spoilt = content[:200] + bytes([content[200] ^ 255]) + content[201:]
    with pytest.raises(NotUnderstood, match="no zip archive"):
        teams_of_zip(spoilt)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([" 0.5", "", "NULL", "-", "nan"], [0.5, None, None, None, None]),
        (["1.234", "2.345"], [1.234, 2.345]),  # no groups of thousands: nothing says so
        (["−3.5", "1E+2", "-Infinity"], [-3.5, 100.0, float("-inf")]),
        (["1,234.5", "1,234,567", "12"], [1234.5, 1234567.0, 12.0]),
        (["1.234,5", "0,25"], [1234.5, 0.25]),
        (["24\xa0987\xa0861,6", "3,20734"], [24987861.6, 3.20734]),
        ([], []),
    ],
)
def test_numbers(texts, expected):
    assert numbers(texts) == expected


@pytest.mark.parametrize("texts", [["1,234"], ["1,234", "5"], ["0,5", "0.5"], ["0x10"], ["1 2"], ["12,34.5"]])
def test_doubtful_numbers_are_refused(texts):
    with pytest.raises(ValueError, match="number"):
        numbers(texts)
