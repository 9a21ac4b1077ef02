"""Runs with real agents in real processes: ends, grading, resuming after Ctrl-C and after kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mlebench import agents, catalog
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.runs import runner
from mlebench.runs.runner import choose_sandbox, execute, plan_run
from mlebench.runs.store import AttemptFolder, AttemptState, attempts, read_config
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
IDS = ("spaceship-titanic", "spooky-author-identification")


def state_and_grade(folder, competition_id=IDS[0], seed=0):
    attempt = AttemptFolder(folder, competition_id, seed)
    grade = json.loads(attempt.grade_path.read_text()) if attempt.grade_path.exists() else None
    return attempt.state(), grade


COPY = "shutil.copy(DATA + '/sample_submission.csv', OUT)\n"


@pytest.mark.parametrize(
    ("program", "end", "valid"),
    [
        (COPY, "completed", True),
        ("print('nothing')", "completed", False),
        (COPY + "sys.exit(3)", "agent-error", True),
        (COPY + "1 / 0", "agent-error", True),
        (COPY + "time.sleep(60)", "timeout", True),
        ("open(OUT, 'w').write('junk')", "completed", False),
        ("os.symlink('/etc/passwd', OUT)", "completed", False),
        ("os.mkdir(OUT)", "completed", False),
    ],
)
def test_ends_and_what_is_graded(agent, run, program, end, valid):
    folder = run(agent(program), time_limit_seconds=2 if end == "timeout" else 60)
    state, grade = state_and_grade(folder)
    assert (state.state, state.end) == ("finished", end)
    assert grade["valid_submission"] is valid
    assert grade["source"] == "synthetic"
    assert bool(grade["reason"]) is not valid
    assert state.is_done


def test_a_command_is_an_agent(run):
    command = "cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv && echo done in $(basename $PWD)"
    folder = run("command", agent_parameters={"command": command})
    state, grade = state_and_grade(folder)
    assert (state.end, grade["valid_submission"]) == ("completed", True)
    assert (AttemptFolder(folder, IDS[0], 0).path / "output.txt").read_text() == "done in code\n"
    missing, _ = state_and_grade(run("command", name="without"))
    assert missing.end == "agent-error"
    assert "--set command" in (AttemptFolder(folder.parent / "without", IDS[0], 0).path / "output.txt").read_text()


def test_the_whole_configuration_is_disclosed(agent, run):
    config = read_config(run(agent(COPY), ids=IDS, seeds=2, workers=2))
    assert config.sources == dict.fromkeys(IDS, "synthetic")
    assert config.hardware["cpus"] >= 1
    assert config.versions["python"].startswith("3.")
    assert config.network == ("none" if SANDBOX == "bubblewrap" else "open")


SHOW = "print(open(DATA + '/description.md').read(), os.environ['COMPETITION_ID'])\n"


def test_agents_are_told_which_competition_it_is(agent, run):
    folder = run(agent(SHOW))
    told = (AttemptFolder(folder, IDS[0], 0).path / "output.txt").read_text()
    assert "Title: Spaceship Titanic" in told
    assert "https://www.kaggle.com/c/spaceship-titanic" in told


@pytest.mark.skipif(SANDBOX == "none", reason="there is no sandbox here")
def test_an_obfuscated_run_does_not_tell(agent, run):
    folder = run(agent(SHOW), obfuscated=True)
    told = (AttemptFolder(folder, IDS[0], 0).path / "output.txt").read_text().lower()
    assert "## metric" in told
    assert not any(word in told for word in ("spaceship titanic", "spaceship-titanic", "kaggle"))
    assert json.loads((folder / "run.json").read_text())["obfuscated"] is True


ASK = """
import urllib.error, urllib.request
print(urllib.request.urlopen("http://localhost:5000/health").read())
for name in ("competition", "another"):
    headers = {"content-type": "text/csv", "exp-id": name}
    request = urllib.request.Request("http://localhost:5000/validate", open(OUT, "rb").read(), headers)
    try:
        print(urllib.request.urlopen(request).read())
    except urllib.error.HTTPError as error:
        print(error.read())
"""


@pytest.mark.skipif(SANDBOX == "none", reason="there is no sandbox here")
def test_nor_does_its_validation(agent, run):
    folder = run(agent(COPY + ASK), obfuscated=True)
    told = (AttemptFolder(folder, IDS[0], 0).path / "output.txt").read_text()
    assert '"competition":"competition"' in told
    assert '"valid":true' in told
    assert "this service validates competition, not another" in told
    assert "titanic" not in told.lower()


def test_a_run_without_sandbox_cannot_be_obfuscated(agent, run):
    with pytest.raises(UsageError, match="--obfuscated needs one"):
        run(agent(SHOW), obfuscated=True, sandbox="none")


@pytest.mark.parametrize("edition", ["v1", "v2"])
def test_an_edition_is_run_validated_and_graded_as_such(agent, tmp_path, edition):
    competition = catalog.get("nomad2018-predict-transparent-conductors")
    prepare(Dataset(competition.in_edition(edition), tmp_path / "data"), Synthetic(rows=60))
    backwards = "import subprocess\nlines = open(DATA + '/sample_submission.csv').read().split()\n"
    backwards += "open(OUT, 'w').write('\\n'.join([lines[0], *lines[:0:-1]]))\n"
    validate = (
        "import urllib.request as u\nprint(u.urlopen(u.Request(os.environ['VALIDATION_URL'], open(OUT, 'rb').read(), "
    )
    validate += "{'Content-Type': 'text/csv'})).read().decode())\n"
    folder, _ = plan_run(
        agent=agent(backwards + validate),
        competitions=[competition],
        data_dir=tmp_path / "data",
        runs_dir=tmp_path,
        sandbox=SANDBOX,
        edition=edition,
    )
    execute(folder, lambda _: None)
    _, grade = state_and_grade(folder, competition.id)
    assert grade["valid_submission"] is (edition == "v2")
    assert grade["edition"] == {"v1": "v1", "v2": "v2.1"}[edition] == read_config(folder).edition
    output = (AttemptFolder(folder, competition.id, 0).path / "output.txt").read_text()
    assert ("Submission is valid" in output) is (edition == "v2"), output


def test_validation_calls_are_counted(agent, run):
    program = COPY + (
        "import json, urllib.request\n"
        "def call(body):\n"
        '    form = b\'--x\\r\\nContent-Disposition: form-data; name="file"; filename="s.csv"\\r\\n\\r\\n\'\n'
        "    request = urllib.request.Request(os.environ['VALIDATION_URL'], form + body + b'\\r\\n--x--\\r\\n',\n"
        "        {'Content-Type': 'multipart/form-data; boundary=x'})\n"
        "    return json.load(urllib.request.urlopen(request))['result']\n"
        "print(call(open(OUT, 'rb').read()))\nprint(call(b'junk'))\n"
    )
    folder = run(agent(program))
    state, _ = state_and_grade(folder)
    assert (state.validations, state.valid_validations) == (2, 1)
    output = (folder / IDS[0] / "0" / "output.txt").read_text()
    assert "Submission is valid." in output
    assert "missing, the file has" in output


def test_instructions_name_the_limits(agent, run):
    path = "os.environ['INSTRUCTIONS_FILE']"
    folder = run(agent(f"print(open({path}).read())"), time_limit_seconds=90)
    assert "1 min 30 s" in (folder / IDS[0] / "0" / "output.txt").read_text()


def test_what_is_wrong_is_said_before_anything_runs(agent, run, tmp_path):
    with pytest.raises(UsageError, match="not prepared"):
        run(agent(COPY), ids=("leaf-classification",))
    with pytest.raises(UsageError, match="no agent"):
        run("basline")
    with pytest.raises(UsageError, match="no sandbox"):
        run(agent(COPY), sandbox="jail")
    run(agent(COPY))
    with pytest.raises(UsageError, match="exists already"):
        run(agent(COPY))


def test_strangers_never_run_unsandboxed_unasked(agent, monkeypatch):
    class Missing:
        def unavailable(self):
            return "bwrap is not installed."

    monkeypatch.setattr(runner, "best", lambda: (None, [("bubblewrap", "bwrap is not installed.")]))
    monkeypatch.setattr(runner, "find_sandbox", lambda _: Missing())
    name, warnings = choose_sandbox("auto", agents.get("sample"))
    assert name == "none"
    assert "NO SANDBOX" in warnings[0]
    for stranger in (agent(COPY), "mini", "command"):
        with pytest.raises(UsageError, match="--sandbox none"):
            choose_sandbox("auto", agents.get(stranger))
    with pytest.raises(UsageError, match="not installed"):
        choose_sandbox("bubblewrap", agents.get("sample"))


def test_a_sandbox_without_the_agents_environment_is_no_reason_to_fail_the_trusted(monkeypatch, tmp_path):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path))
    monkeypatch.setattr(runner, "best", lambda: ("docker", []))
    name, warnings = choose_sandbox("auto", agents.get("sample"), "light")
    assert name == "none"
    assert "agents build" in warnings[0]


def command_line(agent, data_dir, runs_dir, *more):
    ids = [part for competition_id in IDS for part in ("-c", competition_id)]
    options = ["--data-dir", str(data_dir), "--runs-dir", str(runs_dir), "--sandbox", SANDBOX, "--name", "r"]
    return [sys.executable, "-m", "mlebench", "run", "--agent", agent, *ids, *options, *more]


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


MARK = "mlebench-test-agent-that-sleeps"
# The first attempt of all ends at once; the others sleep until the resumed run, which a file in /home/agent tells.
SLEEPER = (
    COPY + f"mark = {MARK!r}\n"
    "if not os.path.exists(os.environ['AGENT_DIR'] + '/awake') and 'titanic' not in os.environ['COMPETITION_ID']:\n"
    "    os.execvp('python', ['python', '-c', 'import time; time.sleep(300)', mark])\n"
)


def sleepers():
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if MARK in (process.info["cmdline"] or []):
            found.append(process)
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM], ids=["Ctrl-C", "kill -9", "kill"])
def test_a_stopped_run_leaves_no_agent_and_goes_on(agent, data_dir, tmp_path, how):
    folder = agent(SLEEPER)
    program = subprocess.Popen(
        command_line(folder, data_dir, tmp_path, "--seeds", "2"), stderr=subprocess.PIPE, text=True
    )
    first = AttemptFolder(tmp_path / "r", IDS[0], 0)
    wait_for(lambda: first.state().is_done and sleepers())
    before = (first.path / "attempt.json").read_bytes()
    os.kill(program.pid, how)
    _, errors = program.communicate(timeout=30)
    assert program.returncode != 0
    if how == signal.SIGINT:
        assert "--resume" in errors
        assert AttemptFolder(tmp_path / "r", IDS[1], 0).state().end == "interrupted"
    wait_for(lambda: not sleepers(), 20)

    (Path(folder) / "awake").touch()
    assert execute(tmp_path / "r", lambda _: None)
    assert (first.path / "attempt.json").read_bytes() == before
    for attempt in attempts(tmp_path / "r", read_config(tmp_path / "r")):
        assert attempt.state().end == "completed"
        assert json.loads(attempt.grade_path.read_text())["valid_submission"]
    assert AttemptFolder(tmp_path / "r", IDS[1], 0).state().reruns == 1


def test_two_processes_cannot_work_on_one_run(agent, run, tmp_path):
    from filelock import FileLock

    folder = run(agent(COPY))
    with FileLock(folder / ".lock"), pytest.raises(UsageError, match="another process"):
        execute(folder, lambda _: None)


def test_faults_of_ours_are_tried_again_three_times(agent, run, monkeypatch):
    folder = run(agent(COPY))
    attempt = AttemptFolder(folder, IDS[0], 0)
    answers = Dataset(catalog.get(IDS[0]), Path(read_config(folder).data_dir)).private / "test.csv"
    hidden = answers.rename(answers.with_name("hidden.csv"))
    try:
        attempt.write_state(AttemptState(IDS[0], 0, "finished", end="grader-error"))
        for reruns in (1, 2, 3):
            done = execute(folder, lambda _: None)
            state = attempt.state()
            assert (state.end, state.reruns) == ("grader-error", reruns)
            assert done is (reruns == 3)
            assert not attempt.grade_path.exists()
    finally:
        hidden.rename(answers)
    assert not ENDS["grader-error"].counts


def test_the_table_of_ends():
    assert {end.name for end in ENDS.values() if end.graded} == {
        *("completed", "timeout", "out-of-memory", "disk-full", "budget-spent", "agent-error"),
    }
    assert all(end.counts != end.rerun for end in ENDS.values())
