"""Whatever is killed, filled or cut off: resuming leads to the same result as if nothing had happened."""

import json
import os
import random
import subprocess
import sys
import time

import psutil
import pytest

from mlebench import catalog
from mlebench.report import to_json
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, attempts, read_config
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
IDS = ("spaceship-titanic", "spooky-author-identification")
MARK = "mlebench-chaos-agent"
KILLS = 10
SEEDS = 4
# Works for a while in a child that ignores SIGTERM; the result depends on the seed and on nothing else.
WORKER = f"""
import subprocess
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1.2)"
subprocess.run([sys.executable, "-c", child, {MARK!r}])
lines = open(DATA + "/sample_submission.csv").read().splitlines()
if os.environ["SEED"] == "1":
    lines = lines[:-1]
open(OUT, "w").write("\\n".join(lines))
"""


def survivors():
    return [process for process in psutil.process_iter(["cmdline"]) if MARK in (process.info["cmdline"] or [])]


def running(run):
    return [each for each in attempts(run, read_config(run)) if each.state().state == "running"]


def essence(run):
    """The report without what differs between two runs of the same: times, peaks, names."""
    report = json.loads(json.dumps(to_json(run)))
    for attempt in report["attempts"]:
        for name in ("seconds", "started", "finished", "peak_memory_bytes", "peak_disk_bytes", "reruns", "seal",
                     "provenance", "message"):  # fmt: skip
            attempt.pop(name, None)
        (attempt.get("grade") or {}).pop("created_at", None)
        (attempt.get("grade") or {}).pop("submission_path", None)
    return {"attempts": report["attempts"], **{k: v for k, v in report.items() if k in ("splits", "totals", "rates")}}


def planned(agent, data_dir, runs_dir, name):
    folder, _ = plan_run(
        agent=agent,
        competitions=[catalog.get(competition_id) for competition_id in IDS],
        data_dir=data_dir,
        runs_dir=runs_dir,
        seeds=SEEDS,
        workers=2,
        sandbox=SANDBOX,
        time_limit_seconds=60,
        name=name,
    )
    return folder


def test_a_runner_killed_ten_times_ends_with_the_report_of_an_undisturbed_one(agent, data_dir, tmp_path):
    worker = agent(WORKER)
    undisturbed = planned(worker, data_dir, tmp_path, "undisturbed")
    assert execute(undisturbed, lambda _: None)

    run = planned(worker, data_dir, tmp_path, "killed")
    moments = random.Random(4)
    cut_off = 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-m", "mlebench", "run", "--resume", str(run)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as runner:
            while runner.poll() is None and not running(run):
                time.sleep(0.02)
            time.sleep(moments.uniform(0, 1.8))
            cut_off += bool(running(run))
            runner.kill()
        deadline = time.monotonic() + 60
        while survivors() or running(run):  # what was cut off is tidied up without the runner
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert cut_off >= KILLS // 2
    assert execute(run, lambda _: None)
    assert not survivors()
    assert essence(run) == essence(undisturbed)
    valid = {
        (attempt.competition_id, attempt.seed): json.loads(attempt.grade_path.read_text())["valid_submission"]
        for attempt in attempts(run, read_config(run))
    }
    assert valid == {(name, seed): seed != 1 for name in IDS for seed in range(SEEDS)}


def test_a_run_goes_on_in_another_place(agent, data_dir, tmp_path):
    """As on another machine that has the same files, after the first was lost in the middle."""
    run = planned(agent(WORKER), data_dir, tmp_path, "here")
    assert execute(run, lambda _: None)
    lost = AttemptFolder(run, IDS[1], 1)
    state = lost.state()
    lost.write_state(type(state)(state.competition, state.seed, "running", started=state.started))
    before = {attempt: attempt.state() for attempt in attempts(run, read_config(run))}
    moved = tmp_path / "elsewhere" / "here"
    moved.parent.mkdir()
    run.rename(moved)
    result = subprocess.run(
        [sys.executable, "-m", "mlebench", "run", "--resume", "here", "--runs-dir", str(moved.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for attempt, state in before.items():
        now = AttemptFolder(moved, attempt.competition_id, attempt.seed).state()
        if attempt == lost:
            assert (now.end, now.reruns) == ("completed", 1)
        else:
            assert now == state


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_loses_nothing_and_blames_nobody(agent, data_dir, tmp_path):
    """The runs folder lies on a disk that is filled from outside while an agent works."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "none", disk], check=True)
    try:
        first = agent("shutil.copy(DATA + '/sample_submission.csv', OUT)\n", "first")
        finished, _ = plan_run(
            agent=first, competitions=[catalog.get(IDS[0])], data_dir=data_dir, runs_dir=disk, sandbox=SANDBOX,
            name="finished", time_limit_seconds=60,
        )  # fmt: skip
        assert execute(finished, lambda _: None)
        before = (finished / IDS[0] / "0" / "attempt.json").read_bytes()
        filler = agent(
            "shutil.copy(DATA + '/sample_submission.csv', OUT)\n"
            "open(os.environ['LOGS_DIR'] + '/up', 'w').close()\ntime.sleep(20)\n",
            "waiter",
        )
        run, _ = plan_run(
            agent=filler, competitions=[catalog.get(IDS[0])], data_dir=data_dir, runs_dir=disk, sandbox=SANDBOX,
            name="filled", time_limit_seconds=60,
        )  # fmt: skip
        attempt = AttemptFolder(run, IDS[0], 0)

        def fill(_):
            if (attempt.path / "logs" / "up").exists() and not (disk / "ballast").exists():
                with (disk / "ballast").open("wb") as file:
                    file.write(bytes(200 << 20))

        assert not execute(run, fill)
        assert (attempt.state().end, attempt.state().is_done) == ("sandbox-error", False)
        assert "of disk are left" in attempt.state().message
        (disk / "ballast").unlink()
        assert execute(run, lambda _: None)
        assert attempt.state().end == "completed"
        assert (finished / IDS[0] / "0" / "attempt.json").read_bytes() == before
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_an_agent_that_never_ends_is_ended(agent, data_dir, tmp_path):
    """It ignores every signal that it can, forks, and works in sessions of its own."""
    program = f"""
import signal, subprocess
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1): signal.signal(number, signal.SIG_IGN)
shutil.copy(DATA + '/sample_submission.csv', OUT)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", {MARK!r}], start_new_session=True)
while True: time.sleep(1)
"""
    run, _ = plan_run(
        agent=agent(program), competitions=[catalog.get(IDS[0])], data_dir=data_dir, runs_dir=tmp_path,
        sandbox=SANDBOX, name="endless", time_limit_seconds=2,
    )  # fmt: skip
    assert execute(run, lambda _: None)
    attempt = AttemptFolder(run, IDS[0], 0)
    state = attempt.state()
    assert state.end == "timeout"
    assert state.seconds is not None
    assert state.seconds < 2 + 10 + 5  # the limit, the grace, and what a busy machine takes
    assert json.loads(attempt.grade_path.read_text())["valid_submission"]
    assert not survivors()
