"""The agent `mini`: whole attempts with a scripted model, and its parts."""

import json
import os
import re
import signal
import sys
import time

import psutil
import pytest

from mlebench.agents.mini.engineer import shell
from mlebench.agents.mini.engineer.run import Clock
from mlebench.testing import Fault, Reply, serve

TITANIC = "spaceship-titanic"
END = Reply.call("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})


def bash(command):
    return Reply.call("bash", {"command": command}, "I do it.")


def until(condition, seconds=120):
    """Wait for what must come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def trajectory(logs):
    return json.loads((logs / "trajectory.json").read_text())


def test_a_whole_attempt(attempt):
    made = attempt("mini", "solver")
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert made.state.validations == 1
    use, told = made.state.model_use, made.server.total
    assert use["requests"] == told.requests == 5
    assert (use["input_tokens"], use["output_tokens"]) == (told.input_tokens, told.output_tokens)
    assert psutil.Process().children(recursive=True) == []
    assert trajectory(made.logs)["info"]["exit_status"] == "Submitted"
    description = (made.folder.path / "prompt.txt").read_text().rpartition("description.md\n")[2].strip()
    for request in made.server.requests:
        text = request.request.text
        assert text.count(description) == 1
        assert text.count("- Time: 3 min") == 1
        assert text.count("/home/submission/submission.csv.\n") == 1
        assert "issue" not in text.split("# How you work here")[1].split("\n\n")[0]
        assert [tool.name for tool in request.request.tools] == ["bash"]
    assert "temperature" not in made.server.requests[0].body
    assert "$ echo COMPLETE_TASK" in made.output


def test_a_budget_that_is_spent_in_mid_run(attempt):
    made = attempt("mini", "solver", max_requests=3)
    assert made.state.end == "budget-spent", made.output
    assert made.grade["valid_submission"]
    assert "The model is refused" in made.output


def test_it_is_warned_and_stopped_in_the_middle_of_a_command(program, place, twins):
    script = [
        bash("touch begun; while [ ! -e go-on ]; do sleep 0.1; done; echo going on"),
        bash("touch second; sleep 1000"),
    ]
    with serve(script) as server, program("mini", server, twins(TITANIC).public) as process:
        code = place.home / "code"
        until((code / "begun").exists)
        process.send_signal(signal.SIGUSR1)
        (code / "go-on").touch()
        until((code / "second").exists)
        children = process.children(recursive=True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
        second = server.requests[1].request
    assert "going on" in second.messages[-2].text
    assert re.search(r"Time runs short: \d+ minutes are left", second.messages[-1].text)
    assert children
    assert not any(child.is_running() for child in children)
    assert len(trajectory(place.logs)["messages"]) == 6  # the last command had no time to answer


@pytest.mark.slow
def test_a_deadline_in_the_middle_of_a_command(attempt):
    made = attempt(
        "mini",
        script=[bash("cp /home/data/sample_submission.csv /home/submission/submission.csv"), bash("sleep 1000"), END],
        seconds=60,
        parameters={"command_timeout": 5},
    )
    assert made.state.end == "completed", made.output  # the command is stopped, not the attempt
    assert made.grade["valid_submission"]
    made = attempt("mini", "looper", seconds=45)
    assert made.state.end == "timeout"
    assert made.grade["valid_submission"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["stumbler", "climber", "fumbler", "babbler"])
def test_whatever_the_model_is_like(attempt, model):
    made = attempt("mini", model)
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]


@pytest.mark.slow
def test_replays_hand_in_the_same(attempt):
    made = attempt("mini", "climber")
    again = [attempt("mini", "climber", replay=made.folder.run) for _ in range(2)]
    assert [each.submission.read_bytes() for each in again] == [made.submission.read_bytes()] * 2
    assert [each.server.requests for each in again] == [[], []]


@pytest.mark.slow
def test_settings_reach_the_model(attempt):
    given = {"temperature": "0.3", "reasoning_effort": "high", "step_limit": 2}
    made = attempt("mini", "solver", parameters=given, faults={2: Fault.rate_limit(0.1)})
    assert made.state.end == "completed", made.output
    bodies = [request.body for request in made.server.requests]
    assert [body["temperature"] for body in bodies] == [0.3] * 3  # one of them again, by the gateway
    assert {body["reasoning_effort"] for body in bodies} == {"high"}
    assert trajectory(made.logs)["info"]["exit_status"] == "LimitsExceeded"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given", "dialect"),
    [
        ("claude-of-the-test", "auto", "anthropic"),
        ("claude-of-the-test", "openai-chat", "openai-chat"),
        ("gpt-5-of-the-test", "auto", "openai-chat"),
        ("gpt-5-of-the-test", "openai-responses", "openai-responses"),
    ],
)
def test_models_of_known_families_are_asked_through_the_gateway(attempt, model, given, dialect):
    copy = bash("cp /home/data/sample_submission.csv /home/submission/submission.csv")
    parameters = {"dialect": given, "reasoning_effort": "high", "max_output_tokens": 9000}
    made = attempt("mini", model, script=[copy, END], parameters=parameters)
    assert made.state.end == "completed", made.output
    assert [request.request.dialect for request in made.server.requests] == [dialect] * 2
    assert {request.request.max_tokens for request in made.server.requests} == {9000}
    assert all('"high"' in json.dumps(request.body) for request in made.server.requests)
    assert made.grade["valid_submission"]


# --- parts


def test_a_command_and_its_code(tmp_path):
    assert shell.execute("echo out; echo err >&2; exit 3", tmp_path, os.environ, 60) == ("out\nerr\n", 3)


def test_endless_output_is_shortened(tmp_path):
    found = shell.execute(
        f"{sys.executable} -c \"print('a' * 999); print('b' * 5_000_000); print('end')\"", tmp_path, os.environ, 60
    )
    assert found.code == 0
    assert found.output.startswith("a" * 999)
    assert found.output.endswith("b\nend\n")
    assert len(found.output) < shell.KEPT_BYTES + 100
    assert re.search(r"\(\d+ bytes\)", found.output)


def test_programs_in_the_background_are_not_waited_for(tmp_path):
    begun = time.monotonic()
    found = shell.execute("sleep 300 & echo $!", tmp_path, os.environ, 200)
    assert time.monotonic() - begun < 150
    background = psutil.Process(int(found.output))
    assert background.is_running()
    background.kill()


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path):
    found = shell.execute("sleep 300 & echo $!; echo shown; sleep 300", tmp_path, os.environ, 2)
    number, shown = found.output.split()
    assert (found.code, shown) == (None, "shown")
    until(lambda: not psutil.pid_exists(int(number)) or psutil.Process(int(number)).status() == "zombie")


def test_the_longest_command_leaves_time_for_last_words():
    clock = Clock(86400)
    assert clock.for_command(32400) == 32400
    assert Clock(36000).for_command(1e9) == pytest.approx(36000 - 120, abs=30)
    assert Clock(60).for_command(1e9) == pytest.approx(57, abs=30)
    assert Clock(0).for_command(1e9) == 1
