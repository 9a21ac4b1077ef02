"""What happens beside an agent while it works: telemetry, notices, snapshots, stopping; sealing and grading again."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.runs.machine import claimed
from mlebench.runs.runner import _note_failure, execute, plan_run
from mlebench.runs.store import AttemptFolder, read_config
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
ID = "spaceship-titanic"
COPY = "shutil.copy(DATA + '/sample_submission.csv', OUT)\n"


def attempt_of(run, seed=0):
    return AttemptFolder(run, ID, seed)


def grade_of(path):
    return json.loads((path / "grade.json").read_text())


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_what_is_used_is_told_meanwhile(agent, run):
    attempt = attempt_of(run(agent("x = [os.urandom(1 << 20) for _ in range(30)]\ntime.sleep(1)\n" + COPY)))
    lines = [json.loads(line) for line in (attempt.path / "telemetry.jsonl").read_text().splitlines()]
    assert lines
    assert set(lines[0]) == {"time", "seconds", "cpu_seconds", "memory_bytes", "disk_bytes", "processes"}
    assert attempt.state().peak_memory_bytes > 30e6


def test_the_agent_is_told_when_time_runs_short(agent, run):
    program = """
end = time.monotonic() + 30
while not os.path.exists(os.environ['NOTICES_DIR'] + '/time.txt') and time.monotonic() < end: time.sleep(0.05)
print('told', open(os.environ['NOTICES_DIR'] + '/time.txt').read())
"""
    attempt = attempt_of(run(agent(program), time_limit_seconds=6))
    assert attempt.state().end == "completed"
    assert "told 1 s are left" in (attempt.path / "output.txt").read_text()


def test_the_prompt_holds_the_limits_and_the_description_once(agent, run):
    attempt = attempt_of(run(agent("print(open(os.environ['PROMPT_FILE']).read())"), time_limit_seconds=5400))
    told = (attempt.path / "output.txt").read_text()
    assert told.count("1 h 30 min") == 1
    description = Dataset(catalog.get(ID), Path(read_config(attempt.run).data_dir)).public / "description.md"
    assert told.count(description.read_text().strip()) == 1


CHANGES = (
    COPY
    + """
time.sleep(1.7)
text = open(OUT).read()
os.utime(OUT)
time.sleep(1)
open(OUT, 'w').write(text.replace('False', 'True'))
time.sleep(1.2)
os.remove(OUT)
os.symlink('/etc/passwd', OUT)
time.sleep(1.2)
"""
)


def test_snapshots_are_kept_when_the_submission_changed_and_graded(agent, run):
    attempt = attempt_of(run(agent(CHANGES), snapshot_seconds=0.9))
    snapshots = sorted((attempt.path / "snapshots").iterdir())
    contents = [(path / "submission.csv").read_text() for path in snapshots]
    assert len(contents) == 2, [path.name for path in snapshots]
    assert contents[0] != contents[1]
    assert [grade_of(path)["valid_submission"] for path in snapshots] == [True, True]
    assert next(path.name for path in snapshots) == "000001"
    assert not grade_of(attempt.path)["valid_submission"]
    assert set(attempt.state().seal["grades"]) == {
        "grade.json",
        *(f"snapshots/{path.name}/grade.json" for path in snapshots),
    }


LARGE_ONES = """
for size in (200 << 20, 30):
    with open(OUT + ".new", "wb") as file:
        file.truncate(size)
    os.replace(OUT + ".new", OUT)
    time.sleep(1.5)
"""


def test_snapshots_do_not_fill_the_disk(agent, run):
    """A file of nothing but a hole takes no disk of the agent's."""
    attempt = attempt_of(run(agent(LARGE_ONES), snapshot_seconds=0.3, disk_bytes=1 << 30))
    (snapshot,) = (attempt.path / "snapshots").glob("*/submission.csv")
    assert snapshot.stat().st_size == 30


def test_one_attempt_or_all_can_be_stopped(agent, data_dir, tmp_path):
    sleeper = agent("open(os.environ['LOGS_DIR'] + '/up', 'w').close()\ntime.sleep(300)")
    options = {"time_limit_seconds": 200, "sandbox": SANDBOX, "name": "r", "seeds": 2, "workers": 2}
    folder, _ = plan_run(agent=sleeper, competitions=[catalog.get(ID)], data_dir=data_dir, runs_dir=tmp_path, **options)
    command = [sys.executable, "-m", "mlebench"]
    with subprocess.Popen([*command, "run", "--resume", str(folder)], stderr=subprocess.PIPE, text=True) as runner:
        first, second = attempt_of(folder, 0), attempt_of(folder, 1)
        until(lambda: all((each.path / "logs" / "up").exists() for each in (first, second)))
        status = subprocess.run([*command, "status", str(folder), "--json"], capture_output=True, text=True, check=True)
        shown = json.loads(status.stdout)
        assert shown["state"] == "running"
        assert [each["state"] for each in shown["attempts"]] == ["running", "running"]
        subprocess.run([*command, "stop", str(folder), ID, "0"], check=True, stderr=subprocess.DEVNULL)
        until(lambda: first.state().state == "finished")
        assert (first.state().end, first.state().message) == ("interrupted", "a person stopped this attempt")
        assert second.state().state == "running"
        assert not first.state().is_done
        subprocess.run([*command, "stop", str(folder)], check=True, stderr=subprocess.DEVNULL)
        assert "--resume" in runner.communicate(timeout=60)[1]
    assert runner.returncode == 130
    assert second.state().end == "interrupted"
    nothing = subprocess.run([*command, "stop", str(folder)], capture_output=True, text=True, check=False)
    assert (nothing.returncode, "nothing is running" in nothing.stderr) == (2, True)


def test_logs_follow_an_attempt_until_it_ends(agent, data_dir, tmp_path):
    program = "for n in range(4):\n    print('line', n, flush=True)\n    time.sleep(0.3)\n"
    folder, _ = plan_run(
        agent=agent(program), competitions=[catalog.get(ID)], data_dir=data_dir, runs_dir=tmp_path,
        sandbox=SANDBOX, name="r", time_limit_seconds=60,
    )  # fmt: skip
    command = [sys.executable, "-m", "mlebench", "logs", str(folder), ID]
    with subprocess.Popen([*command, "-f"], stdout=subprocess.PIPE, text=True) as following:
        execute(folder, lambda _: None)
        assert following.communicate(timeout=60)[0] == "line 0\nline 1\nline 2\nline 3\n"
    last = subprocess.run([*command, "0", "-n", "1"], capture_output=True, text=True, check=True)
    assert last.stdout == "line 3\n"
    other = subprocess.run([*command, "7"], capture_output=True, text=True, check=False)
    assert (other.returncode, "has no attempt" in other.stderr) == (2, True)


def test_grading_that_failed_is_done_again_alone(agent, run, tmp_path):
    folder = run(agent(COPY + "open(os.environ['LOGS_DIR'] + '/ran', 'w').write(str(time.time()))"))
    attempt = attempt_of(folder)
    ran = (attempt.path / "logs" / "ran").read_text()
    before, score = attempt.state(), grade_of(attempt.path)["score"]
    answers = Dataset(catalog.get(ID), Path(read_config(folder).data_dir)).private / "test.csv"
    hidden = answers.rename(tmp_path / "hidden.csv")
    try:
        attempt.write_state(type(before)(**{**vars(before), "state": "sealed", "gradings": 0}))
        attempt.grade_path.unlink()
        assert not execute(folder, lambda _: None)
        assert attempt.state().end == "grader-error"
    finally:
        hidden.rename(answers)
    assert execute(folder, lambda _: None)
    after = attempt.state()
    assert (after.end, after.state, after.reruns, after.gradings) == ("completed", "finished", 1, 1)
    assert (attempt.path / "logs" / "ran").read_text() == ran
    assert grade_of(attempt.path)["score"] == score


def test_a_grader_that_takes_its_process_down_is_no_reason_for_another_try(agent, run):
    folder = run(agent(COPY))
    attempt = attempt_of(folder)
    died = Future()
    died.set_exception(RuntimeError("the process ended with code -9"))
    for before, end in (("sealed", "grader-error"), ("running", "sandbox-error"), ("finished", "completed")):
        attempt.write_state(replace(attempt.state(), state=before, end="completed"))
        _note_failure(died, attempt)
        assert (attempt.state().state, attempt.state().end) == ("finished", end)


def test_a_submission_that_changed_after_it_was_sealed_is_not_graded(agent, run):
    folder = run(agent(COPY))
    attempt = attempt_of(folder)
    state = attempt.state()
    attempt.write_state(type(state)(**{**vars(state), "state": "sealed"}))
    (attempt.path / "submission" / "submission.csv").write_text("PassengerId,Transported\n")
    assert not execute(folder, lambda _: None)
    assert attempt.state().end == "grader-error"
    assert "not the one that was sealed" in attempt.state().message


def test_records_of_a_try_that_did_not_count_are_kept(agent, run):
    folder = run(agent("print('try')\n" + COPY))
    attempt = attempt_of(folder)
    state = attempt.state()
    spent = {"requests": 3, "dollars": 0.5}
    for _ in range(2):
        attempt.write_state(type(state)(**{**vars(state), "end": "interrupted", "model_use": spent}))
        assert execute(folder, lambda _: None)
        state = attempt.state()
    assert (attempt.path / "earlier" / "0" / "output.txt").read_text() == "try\n"
    assert sorted(path.name for path in (attempt.path / "earlier").iterdir()) == ["0", "1"]
    assert state.earlier_model_use == [spent, spent]
    assert state.reruns == 2


def test_devices_are_for_one_attempt_alone():
    order = []

    def work(name):
        with claimed("test", (0, 1), 2) as mine:
            order.append((name, mine))
            time.sleep(0.2)
            order.append((name, mine))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [first for first, _ in order[::2]] == [second for second, _ in order[1::2]]
    assert {mine for _, mine in order} == {(0, 1)}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processors can't be chosen here")
def test_processors_of_ones_own(agent, run):
    folder = run(agent("print(len(os.sched_getaffinity(0)))"), cpus=1)
    assert (attempt_of(folder).path / "output.txt").read_text() == "1\n"
