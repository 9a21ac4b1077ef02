"""Whole runs of small agents that talk to a scripted model, through the gateway, in a sandbox."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mlebench import catalog, testing
from mlebench.errors import UsageError
from mlebench.runs.observation import BUDGET_GRACE_SECONDS, Observation
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, read_config
from mlebench.sandbox import Sample, find_sandbox
from mlebench.services.gateway import read_recording

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
ID = "spaceship-titanic"
KEY = "sk-the-providers-own-key-4711"
TOML = 'title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\nneeds_model = true\n'
TOML += 'dialects = ["openai-chat"]\n'
ASK = """
import json, os, shutil, sys, time, urllib.error, urllib.request
def ask(text, model=os.environ["MLEBENCH_MODEL"]):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode(), flush=True)
        return error.code
def submit():
    shutil.copy(os.environ["DATA_DIR"] + "/sample_submission.csv", os.environ["SUBMISSION_DIR"] + "/submission.csv")
"""


@pytest.fixture
def agent(tmp_path):
    def make(program):
        folder = tmp_path / "agent"
        folder.mkdir(exist_ok=True)
        (folder / "agent.toml").write_text(TOML)
        (folder / "main.py").write_text(ASK + program)
        return str(folder)

    return make


@pytest.fixture
def plan(tmp_path, twins, monkeypatch):
    """Plan a run with a model at `url`."""
    monkeypatch.setenv("SCRIPTED_KEY", KEY)

    def make(agent, url, name="r", **options):
        models = tmp_path / "models.toml"
        models.write_text(
            f'[upstreams.scripted]\nurl = "{url}"\nkey = "SCRIPTED_KEY"\ndialects = ["openai-chat"]\n'
            '[prices."scripted/solver"]\ninput = 100.0\noutput = 400.0\n'
        )
        run, _ = plan_run(
            agent=agent, competitions=[catalog.get(ID)], data_dir=twins(ID).data_dir, runs_dir=tmp_path / "runs",
            sandbox=SANDBOX, name=name, time_limit_seconds=100, model="scripted/solver", models_file=models, **options,
        )  # fmt: skip
        return run

    return make


def attempt_of(run):
    return AttemptFolder(run, ID, 0)


def output_of(run):
    return (attempt_of(run).path / "output.txt").read_text()


def test_use_is_counted_recorded_and_priced_and_no_key_is_anywhere(agent, plan):
    with testing.serve(["one", "two", "three"], key=KEY) as server:
        run = plan(agent("for word in 'abc': print(ask(word), flush=True)\nprint(os.environ)\nsubmit()"), server.url)
        assert execute(run, lambda _: None)
    state = attempt_of(run).state()
    assert (state.end, state.message) == ("completed", "")
    assert output_of(run).startswith("one\ntwo\nthree\n")
    total = server.total
    use = state.model_use
    assert (use["requests"], use["input_tokens"], use["output_tokens"]) == (3, total.input_tokens, total.output_tokens)
    assert use["dollars"] > 0
    assert len(list(read_recording(attempt_of(run).path / "gateway.jsonl"))) == 3
    assert read_config(run).network == ("gateway" if SANDBOX == "bubblewrap" else "open")
    for path in run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_dead_provider_is_a_fault_of_ours_and_the_run_goes_on_when_it_is_back(agent, plan):
    faults = {number: testing.Fault.error(503) for number in range(2, 100)}
    folder = agent("print(ask('a'))\nprint(ask('b'))\nsubmit()\nprint(ask('c'))")
    with testing.serve(["one"], faults=faults, key=KEY) as server:
        url = server.url
        run = plan(folder, url, budget={"patience_seconds": 1.0})
        assert not execute(run, lambda _: None)
    state = attempt_of(run).state()
    assert state.end == "gateway-error"
    assert not state.is_done
    assert not attempt_of(run).grade_path.exists()
    port = int(url.rpartition(":")[2])
    with testing.serve(["one", "two", "three"], key=KEY, port=port):
        assert execute(run, lambda _: None)
    after = attempt_of(run).state()
    assert (after.end, after.reruns) == ("completed", 1)
    assert [use["requests"] for use in after.earlier_model_use] == [state.model_use["requests"]]
    assert (attempt_of(run).path / "earlier" / "0" / "gateway.jsonl").exists()


def test_errors_that_pass_are_not_seen_by_the_agent(agent, plan):
    faults = {1: testing.Fault.rate_limit(), 2: testing.Fault.error(500), 3: testing.Fault.disconnect()}
    with testing.serve(["at last"], faults=faults, key=KEY) as server:
        run = plan(agent("print(ask('a'))\nsubmit()"), server.url)
        assert execute(run, lambda _: None)
    assert output_of(run) == "at last\n"
    assert attempt_of(run).state().model_use["lost_seconds"] > 0


@pytest.mark.parametrize("limit", [{"max_requests": 2}, {"max_tokens": 10}, {"max_dollars": 0.001}])
def test_a_spent_budget_has_its_own_end_and_what_is_in_place_is_graded(agent, plan, limit):
    program = "submit()\nwhile True:\n    if ask('a b c d e f g h') == 401: sys.exit(1)\n"
    with testing.serve(["words and words"] * 50, key=KEY) as server:
        run = plan(agent(program), server.url, budget=limit)
        assert execute(run, lambda _: None)
    state = attempt_of(run).state()
    assert state.end == "budget-spent"
    assert json.loads(attempt_of(run).grade_path.read_text())["valid_submission"]


def test_who_goes_on_without_a_budget_is_stopped(tmp_path, agent, plan):
    with testing.serve(["x"], key=KEY) as server:
        run = plan(agent("pass"), server.url)
    attempt_of(run).path.mkdir(parents=True)
    spent = ("budget-spent", "the dollars are spent")
    observe = Observation(attempt_of(run), read_config(run), lambda: spent)
    at = [observe(Sample(second, 0, 0, 0, 1)) for second in (5, 5 + BUDGET_GRACE_SECONDS - 1, 5 + BUDGET_GRACE_SECONDS)]
    assert at == [None, None, spent]
    broken = Observation(attempt_of(run), read_config(run), lambda: ("gateway-error", "it is gone"))
    assert broken(Sample(1, 0, 0, 0, 1)) == ("gateway-error", "it is gone")


def test_another_model_is_refused_and_the_attempt_goes_on(agent, plan):
    with testing.serve(["one"], key=KEY) as server:
        run = plan(agent("print(ask('a', 'gpt-4o') in (400, 404))\nprint(ask('a'))\nsubmit()"), server.url)
        assert execute(run, lambda _: None)
    assert output_of(run).splitlines()[-2:] == ["True", "one"]
    assert "gpt-4o" in output_of(run)
    assert attempt_of(run).state().model_use["refused"] == 1


def test_replay_needs_neither_key_nor_provider(agent, plan, tmp_path, monkeypatch, twins):
    program = "print(ask('a'))\nprint(ask('b'))\nsubmit()"
    with testing.serve(["one", "two"], key=KEY) as server:
        run = plan(agent(program), server.url)
        assert execute(run, lambda _: None)
    monkeypatch.delenv("SCRIPTED_KEY")
    result = subprocess.run(
        [sys.executable, "-m", "mlebench", "run", "--replay", str(run), "--data-dir", str(twins(ID).data_dir),
         "--runs-dir", str(tmp_path / "runs"), "--name", "again", "--sandbox", SANDBOX, "--time-limit", "100s"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    again = tmp_path / "runs" / "again"
    assert output_of(again) == output_of(run) == "one\ntwo\n"
    seals = [attempt_of(each).state().seal["submission"]["sha256"] for each in (run, again)]
    assert seals[0] == seals[1]
    assert read_config(again).replay == str(run)
    recording = hashlib.sha256((attempt_of(run).path / "gateway.jsonl").read_bytes()).hexdigest()
    assert attempt_of(again).state().provenance["replay_sha256"] == recording


def test_what_is_wrong_with_a_model_is_said_before_anything_runs(agent, plan, monkeypatch, twins, tmp_path):
    folder = agent("pass")
    common = {"agent": folder, "competitions": [catalog.get(ID)], "data_dir": twins(ID).data_dir}
    with pytest.raises(UsageError, match="needs a model"):
        plan_run(**common, runs_dir=tmp_path, sandbox=SANDBOX)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        plan_run(**common, runs_dir=tmp_path, sandbox=SANDBOX, model="openai/gpt-4o-2024-08-06")
    with pytest.raises(UsageError, match="no upstream"):
        plan_run(**common, runs_dir=tmp_path, sandbox=SANDBOX, model="nobody/x")
    Path(folder, "agent.toml").write_text(TOML.replace("openai-chat", "google"))
    with pytest.raises(UsageError, match="speaks"):
        plan(folder, "http://127.0.0.1:9")
