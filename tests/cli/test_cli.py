"""Commands: help, output, exit codes, what is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlebench import catalog
from mlebench.cli import COMMANDS
from mlebench.cli.options import Duration, Size
from mlebench.cli.reference import pages

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("name", "text"), pages(DOCS).items(), ids=pages(DOCS))
def test_the_generated_pages_are_up_to_date(name, text):
    assert (DOCS / name).read_text() == text, "python -m mlebench.cli.reference docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_begins_with_its_summary(name, mlebench):
    text = " ".join(mlebench(name, "--help").output.split())
    assert COMMANDS[name][1] in text


def test_ctrl_c_has_an_exit_code_of_its_own(mlebench, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalog, "competitions", interrupted)
    result = mlebench("list", code=130)
    assert result.stderr == "interrupted\n"


def test_help_and_list_import_little():
    """`--help` and `list` load click and a few light modules of ours, nothing else from outside."""
    program = (
        "import sys; before = set(sys.modules); sys.argv = ['mlebench', *{arguments}]\n"
        "from mlebench.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "new = {{name.partition('.')[0] for name in set(sys.modules) - before}} - set(sys.stdlib_module_names)\n"
        "ours = {{name for name in sys.modules if name.startswith('mlebench')}}\n"
        "print('MODULES', sorted(new), sorted(ours), file=sys.stderr)"
    )
    for arguments, ours in (
        (["--help"], {"mlebench", "mlebench.cli", "mlebench.errors"}),
        (
            ["list"],
            {
                *("mlebench", "mlebench.cli", "mlebench.errors", "mlebench.cli.catalog", "mlebench.cli.options"),
                *("mlebench.cli.output", "mlebench.catalog", "mlebench.competition", "mlebench.dataset"),
                *("mlebench.preparation", "mlebench.preparation.progress", "mlebench.leaderboard"),
            },
        ),
    ):
        code = program.format(arguments=arguments)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found = done.stderr.rsplit("MODULES ", 1)[1]
        new, names = (eval(part + "]") for part in found.strip()[:-1].split("] ", 1))
        assert set(new) <= {"click", "mlebench"}, arguments
        assert set(names) <= ours, arguments


def test_list(mlebench):
    ids = [line.split()[0] for line in mlebench("list").stdout.splitlines()]
    assert ids == list(catalog.competitions())
    facts = json.loads(mlebench("list", "--json", "--category", "tabular", "--complexity", "low").stdout)
    assert facts
    assert all(fact["category"] == "Tabular" and fact["complexity"] == "low" for fact in facts)
    assert [fact["id"] for fact in json.loads(mlebench("list", "--split", "dev", "--json").stdout)] == [
        c.id for c in catalog.split("dev")
    ]


@pytest.mark.parametrize("competition_id", catalog.competitions())
def test_show(mlebench, competition_id):
    text = mlebench("show", competition_id).stdout
    competition = catalog.get(competition_id)
    assert competition.title in text
    assert competition.metric.title in text
    assert "gold" in text
    facts = json.loads(mlebench("show", competition_id, "--json").stdout)
    assert facts["medals"]["gold"]["score"] == competition.leaderboard.gold


def test_a_mistyped_id_is_answered_by_a_suggestion(mlebench):
    result = mlebench("show", "spaceship-titanc", code=2)
    assert 'Did you mean "spaceship-titanic"?' in result.stderr
    assert "Traceback" not in result.output


def test_prepare_validate_grade(mlebench, tmp_path):
    data = ("--data-dir", tmp_path / "data")
    assert (
        "verified" in mlebench("prepare", "-c", "spaceship-titanic", "--source", "synthetic", "--verify", *data).stdout
    )
    again = mlebench("prepare", "-c", "spaceship-titanic", "--source", "synthetic", *data, "--json").stdout
    assert json.loads(again)[0]["state"] == "already prepared"

    public = tmp_path / "data" / "spaceship-titanic" / "prepared" / "public"
    sample = public / "sample_submission.csv"
    assert mlebench("validate", sample, "spaceship-titanic", *data).stdout == "Submission is valid.\n"
    bad = tmp_path / "bad.csv"
    bad.write_text(sample.read_text().replace("False", "maybe", 1))
    problems = json.loads(mlebench("validate", bad, "spaceship-titanic", *data, "--json", code=1).stdout)["problems"]
    assert (problems[0]["kind"], problems[0]["rows"], problems[0]["values"]) == ("not a boolean", [1], ["'maybe'"])

    result = mlebench("grade-sample", sample, "spaceship-titanic", *data)
    assert json.loads(result.stdout)["valid_submission"] is True
    assert "Competition report:" in result.stderr
    assert "{" not in result.stderr
    result = mlebench("grade-sample", bad, "spaceship-titanic", *data)
    assert json.loads(result.stdout)["score"] is None
    assert "Invalid submission: " in result.stderr
    mlebench("grade-sample", bad, "spaceship-titanic", "--strict", *data, code=1)
    assert json.loads(mlebench("grade-sample", "None", "spaceship-titanic", *data).stdout)["submission_exists"] is False

    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"competition_id": "spaceship-titanic", "submission_path": str(sample)}) + "\n")
    mlebench("grade", "--submission", lines, "--output-dir", tmp_path / "reports", *data)
    (report,) = (tmp_path / "reports").glob("*_grading_report.json")
    assert json.loads(report.read_text())["total_valid_submissions"] == 1


def test_what_prepare_tells_programs(mlebench, tmp_path):
    """Nothing but JSON on standard output, with the same keys whether one or many are prepared."""
    ids = ("spaceship-titanic", "spooky-author-identification")
    chosen = [part for each in ids for part in ("-c", each)]
    arguments = ("prepare", *chosen, "--source", "synthetic", "--keep", "raw", "--data-dir", tmp_path, "--json")
    results = json.loads(mlebench(*arguments).stdout)
    assert [result["competition"] for result in results] == list(ids)
    for result in results:
        assert result["state"] == "prepared"
        assert result["problems"] == []
        assert (result["edition"], result["source"], result["files"]) == ("v1", "synthetic", 5)
        assert result["disk_bytes"] > 0
        assert any((tmp_path / result["competition"] / "raw").iterdir())
    assert {result["state"] for result in json.loads(mlebench(*arguments).stdout)} == {"already prepared"}
    mlebench("prepare", *chosen, "--keep-raw", "--keep", "zip", "--source", "synthetic", code=2)


def test_not_prepared_says_what_to_type(mlebench, tmp_path):
    for command in ("validate", "grade-sample"):
        result = mlebench(command, "x.csv", "spaceship-titanic", "--data-dir", tmp_path, code=2)
        assert "mlebench prepare -c spaceship-titanic" in result.stderr


def test_one_failure_does_not_stop_the_others(mlebench, tmp_path):
    (tmp_path / "raw" / "spaceship-titanic").mkdir(parents=True)
    (tmp_path / "raw" / "spooky-author-identification.zip").write_bytes(b"x")
    ids = ("-c", "spaceship-titanic", "-c", "spooky-author-identification")
    result = mlebench("prepare", *ids, "--source", tmp_path / "raw", "--data-dir", tmp_path / "d", code=1)
    assert result.output.count(": failed") == 2
    assert "neither a folder spaceship-titanic with files in it nor an archive" in result.output


def test_a_data_directory_that_cannot_be_written_is_named(mlebench, tmp_path):
    (tmp_path / "file").write_text("")
    result = mlebench(
        "prepare", "-c", "spaceship-titanic", "--source", "synthetic", "--data-dir", tmp_path / "file", code=1
    )
    assert f"{tmp_path / 'file' / 'spaceship-titanic'}: Not a directory. --data-dir" in result.stderr


def test_a_new_competition_passes_all_checks(mlebench, tmp_path):
    mlebench("new", "river-levels", "--into", tmp_path)
    mlebench("new", "river-levels", "--into", tmp_path, code=2)
    mlebench("new", "../x", "--into", tmp_path, code=2)
    assert "✗" not in mlebench("check", tmp_path / "river-levels").stdout
    assert "river-levels" in mlebench("list", "--competitions", tmp_path).stdout
    (tmp_path / "river-levels" / "description.md").write_text("# Nothing\n")
    result = mlebench("check", tmp_path / "river-levels", code=1)
    assert "✗ description names every file" in result.stdout
    own = {**os.environ, "MLEBENCH_COMPETITIONS": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "mlebench", "show", "river-levels"], env=own, capture_output=True, text=True, check=True
    )
    assert "River Levels" in done.stdout


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("24h", 86400), ("1h30m", 5400), ("7", 7)])
def test_times(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(("text", "size"), [("500MB", 5e8), ("8gb", 8e9), ("4GiB", 4 << 30), ("1.5k", 1500), ("9", 9)])
def test_sizes(text, size):
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize(
    "arguments", [("run", "--time-limit", "soon"), ("run", "--memory", "much"), ("run",), ("check",)]
)
def test_wrong_use_exits_with_2(mlebench, arguments):
    assert "Traceback" not in mlebench(*arguments, code=2).output
