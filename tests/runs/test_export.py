"""Exporting a run in the layout of the published benchmark, and grading what was exported."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mlebench.errors import UsageError
from mlebench.runs.export import export_v1, group_name
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, read_config

IDS = ("spaceship-titanic", "nomad2018-predict-transparent-conductors")
PROGRAM = """
import os, pathlib, shutil
code, logs = pathlib.Path(os.environ["CODE_DIR"]), pathlib.Path(os.environ["LOGS_DIR"])
(code / "deep" / "er").mkdir(parents=True)
(code / "deep" / "er" / "train.py").write_text("print(1)")
(code / "secret").symlink_to("/etc/passwd")
(code / "data").symlink_to("/home/data")
os.mkfifo(logs / "pipe")
(logs / "log.txt").write_text("logged")
print("worked")
if os.environ["SEED"] == "0":
    shutil.copy(os.environ["DATA_DIR"] + "/sample_submission.csv", os.environ["SUBMISSION_DIR"] + "/submission.csv")
else:
    raise SystemExit(1)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, twins):
    """Two competitions and two seeds; the second leaves no submission and fails."""
    folder = tmp_path_factory.mktemp("export")
    agent = folder / "my agent"
    agent.mkdir()
    (agent / "agent.toml").write_text('title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\n')
    (agent / "main.py").write_text(PROGRAM)
    datasets = [twins(name) for name in IDS]
    path, _ = plan_run(
        agent=str(agent),
        competitions=[dataset.competition for dataset in datasets],
        data_dir=datasets[0].data_dir,
        runs_dir=folder,
        seeds=2,
        time_limit_seconds=60,
        sandbox="none",
        name="r",
    )
    execute(path, lambda _: None)
    return path


@pytest.fixture
def exported(run, tmp_path):
    return export_v1(run, tmp_path / "runs")


def lines(exported):
    return [json.loads(line) for line in exported.submissions.read_text().splitlines()]


def test_the_layout(exported, run, tmp_path):
    assert exported.attempts == 4
    assert exported.left_out == 0
    assert exported.folder.parent == tmp_path / "runs"
    assert [entry.name for entry in exported.folder.parent.iterdir()] == [exported.folder.name]
    assert exported.folder.name.endswith("-UTC_run-group_my-agent")
    metadata = json.loads((exported.folder / "metadata.json").read_text())
    assert metadata["run_group"] == exported.folder.name
    names = {entry.name for entry in exported.folder.iterdir() if entry.is_dir()}
    assert set(metadata["runs"]) == names
    assert sorted(name.rpartition("_")[0] for name in names) == sorted(IDS * 2)
    assert sorted(each["success"] for each in metadata["runs"].values()) == [False, False, True, True]
    for name, facts in metadata["runs"].items():
        folder = exported.folder / name
        assert (folder / "code" / "deep" / "er" / "train.py").read_text() == "print(1)"
        assert (folder / "run.log").read_text().startswith("worked")
        assert (folder / "submission" / "submission.csv").exists() is (facts["seed"] == 0)
        original = AttemptFolder(run, name.rpartition("_")[0], facts["seed"]).path / "submission" / "submission.csv"
        if original.exists():
            assert (folder / "submission" / "submission.csv").read_bytes() == original.read_bytes()


def test_only_plain_files_are_taken(exported):
    for folder, folders, files in os.walk(exported.folder):
        for name in (*folders, *files):
            path = Path(folder, name)
            assert not path.is_symlink()
            assert path.is_file() or path.is_dir()
    assert all((Path(line["logs_path"]) / "log.txt").read_text() == "logged" for line in lines(exported))


def test_grading_the_export_gives_the_same_scores(exported, run, twins, tmp_path):
    command = [sys.executable, "-m", "mlebench", "grade", "--submission", str(exported.submissions)]
    command += ["--output-dir", str(tmp_path), "--data-dir", str(twins(IDS[0]).data_dir), "--workers", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    reports = json.loads(done.stdout)["competition_reports"]
    found = sorted((each["competition_id"], str(each["score"]), each["any_medal"]) for each in reports)
    grades = [json.loads(path.read_text()) for path in run.glob("*/*/grade.json")]
    assert found == sorted((each["competition_id"], str(each["score"]), each["any_medal"]) for each in grades)
    assert sum(each["score"] is not None for each in reports) == 2


def test_an_agent_written_for_v1_is_named_by_its_id(run):
    config = replace(read_config(run), agent="/home/me/agents/tiny:tiny/fast", created="2026-01-31T20:15:00+01:00")
    assert group_name(config) == "2026-01-31T19-15-00-UTC_run-group_tiny-fast"


def test_names_stay_the_same(exported, run, tmp_path):
    again = export_v1(run, tmp_path / "again")
    assert (again.folder / "metadata.json").read_bytes() == (exported.folder / "metadata.json").read_bytes()


def test_nothing_is_overwritten(exported, run):
    with pytest.raises(UsageError, match="exists already"):
        export_v1(run, exported.folder.parent)


def test_what_does_not_count_is_left_out(run, tmp_path):
    attempt = AttemptFolder(run, IDS[0], 0)
    state = attempt.state()
    try:
        attempt.write_state(replace(state, end="sandbox-error"))
        AttemptFolder(run, IDS[1], 1).write_state(replace(AttemptFolder(run, IDS[1], 1).state(), state="running"))
        exported = export_v1(run, tmp_path / "runs")
        assert (exported.attempts, exported.left_out) == (2, 2)
        assert {line["competition_id"] for line in lines(exported)} == set(IDS)
    finally:
        attempt.write_state(state)
        AttemptFolder(run, IDS[1], 1).write_state(replace(AttemptFolder(run, IDS[1], 1).state(), state="finished"))


def test_a_run_without_results_is_refused(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "run.json").write_bytes((run / "run.json").read_bytes())
    with pytest.raises(UsageError, match="none of its attempts"):
        export_v1(empty, tmp_path / "runs")
    assert read_config(empty).seeds == 2
    assert not (tmp_path / "runs").exists()


def test_the_command(run, tmp_path):
    command = [sys.executable, "-m", "mlebench", "export", "v1", "r", "--runs-dir", str(run.parent)]
    done = subprocess.run([*command, "--into", str(tmp_path)], capture_output=True, text=True, timeout=100, check=True)
    assert "4 attempts" in done.stdout
    assert "mlebench grade --submission" in done.stdout
    again = subprocess.run(
        [*command, "--into", str(tmp_path)], capture_output=True, text=True, timeout=100, check=False
    )
    assert again.returncode == 2
    assert "exists already" in again.stderr
