"""The agent `openhands`: whole attempts with the true SDK, on a Debian of its own where the host's Python is older.

All are slow: the environment is built first, and each attempt starts the SDK.
"""

import json

import psutil
import pytest

from mlebench import agents, environments
from mlebench.testing import Fault, Look, Plan, Planned, Reply, Run

pytestmark = pytest.mark.slow

COPY = 'cp "$DATA_DIR/sample_submission.csv" "$SUBMISSION_DIR/submission.csv"'


@pytest.fixture(scope="module", autouse=True)
def built():
    """Its environment, built unless it is there."""
    environments.build(agents.get("openhands").software_for("light"), "bubblewrap")


def command(text):
    """A call of its terminal."""
    return Reply.call("terminal", {"command": text})


FINISH = Reply.call("finish", {"message": "done"})


def events(made):
    """Its record: one file an event."""
    return [json.loads(path.read_text()) for path in sorted((made.logs / "events").glob("*/events/event-*.json"))]


def said_by_user(made):
    return [
        event["llm_message"]["content"][0]["text"]
        for event in events(made)
        if event["source"] == "user" and event["kind"] == "MessageEvent"
    ]


def test_a_whole_attempt(attempt):
    made = attempt("openhands")
    assert made.state.end == "completed", made.output
    assert made.state.exit_code == 0
    assert made.grade["valid_submission"]
    assert made.output.rstrip().endswith("OpenHands after 5 steps: handed in")
    use, told = made.state.model_use, made.server.total
    assert (use["requests"], use["input_tokens"], use["output_tokens"]) == (5, told.input_tokens, told.output_tokens)
    assert "Submission is valid." in json.dumps(events(made))
    assert psutil.Process().children(recursive=True) == []


def test_what_the_model_is_told(attempt):
    made = attempt("openhands")
    prompt = (made.folder.path / "prompt.txt").read_text()
    description = prompt.rpartition("description.md\n")[2].strip()
    assert said_by_user(made) == [prompt]
    for recorded in made.server.requests:
        assert recorded.request.dialect == "openai-chat"
        assert recorded.request.text.count(description) == 1
        assert recorded.request.text.count("- Time: 3 min") == 1
        assert "temperature" not in recorded.body
        assert "reasoning_effort" not in recorded.body
        tools = {tool.name for tool in recorded.request.tools}
        assert tools == {"terminal", "file_editor", "task_tracker", "finish", "think"}


def test_parameters_reach_the_model(attempt):
    given = {"temperature": 0.3, "reasoning_effort": "low", "max_output_tokens": 5000, "max_iterations": 1}
    made = attempt("openhands", parameters=given)
    body = made.server.requests[0].body
    assert (body["temperature"], body["reasoning_effort"]) == (0.3, "low")
    assert 5000 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses"])
def test_other_dialects(attempt, dialect):
    made = attempt("openhands", parameters={"dialect": dialect})
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    path = {"anthropic": "/v1/messages", "openai-responses": "/v1/responses"}[dialect]
    assert {recorded.path for recorded in made.server.requests} == {path}


def test_an_unknown_dialect_is_named(attempt):
    made = attempt("openhands", parameters={"dialect": "openai"})
    assert (made.state.end, made.state.exit_code) == ("agent-error", 1)
    assert 'the parameter dialect is "openai"; there are auto, openai-chat' in made.output


def test_commands_find_the_python_and_the_packages_of_the_environment(attempt):
    look = 'python -c "import lightgbm, sys; print(sys.prefix, lightgbm.__version__)"; tmux -V; git --version'
    made = attempt("openhands", script=[command(look), command(COPY), FINISH])
    assert made.state.end == "completed", made.output
    built_python = environments.find(agents.get("openhands").software_for("light"), "bubblewrap").python
    record = json.dumps(events(made))
    assert f"{built_python} " in record
    assert "git version" in record
    assert "tmux 3" in record


def test_who_stops_without_a_submission_is_told_to_go_on(attempt):
    made = attempt("openhands", script=[FINISH, "Shall I go on?", command(COPY), "Done, I think.", FINISH])
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    _, *reminders = said_by_user(made)
    assert len(reminders) == 3  # the last: there is a submission, but it did not say that it is finished
    assert all("go on with the task" in reminder for reminder in reminders)
    assert "after 5 steps: handed in" in made.output


def test_reminders_are_bounded(attempt):
    made = attempt("openhands", script=["No.", "No.", "No."], parameters={"max_reminders": 2})
    assert (made.state.end, made.state.exit_code) == ("completed", 0), made.output
    assert "after 3 steps: stopped without handing in, 2 reminders did not help" in made.output


def test_who_repeats_itself_is_told_so_until_the_steps_are_used_up(attempt):
    made = attempt("openhands", script=[command("echo same")] * 12, parameters={"max_iterations": 12})
    assert made.state.end == "completed", made.output
    assert "after 12 steps: all steps are used up" in made.output
    _, *told = said_by_user(made)
    assert told
    assert all("the same several times" in text for text in told)


def test_a_command_may_be_silent_for_a_while(attempt):
    """The SDK's own limit is 30 seconds."""
    made = attempt("openhands", script=[command(f"sleep 40; {COPY}"), FINISH])
    assert made.state.end == "completed", made.output
    assert "after 2 steps: handed in" in made.output


def test_a_command_that_is_silent_for_too_long_is_handed_back(attempt):
    script = [command(f"sleep 20; {COPY}"), command("C-c"), command(COPY), FINISH]
    made = attempt("openhands", script=script, parameters={"quiet_seconds": 5})
    assert made.state.end == "completed", made.output
    assert "no new output after 5" in json.dumps(events(made))


def test_a_notice_about_the_time_is_passed_on(attempt):
    made = attempt("openhands", script=Planned(Plan([Look(), Run(f"{COPY}; sleep 3; date")])), seconds=40)
    assert made.state.end == "timeout", made.output
    assert made.grade["valid_submission"]
    notice = (made.folder.path / "notices" / "time.txt").read_text()
    assert notice in said_by_user(made)
    assert psutil.Process().children(recursive=True) == []


def test_a_budget_that_is_spent_in_mid_run(attempt):
    made = attempt("openhands", max_requests=3)
    assert made.state.end == "budget-spent", made.output
    assert made.state.exit_code == 3
    assert made.state.model_use["requests"] == 3
    assert made.grade["valid_submission"]  # by what the third answer had it run
    assert "after 3 steps: the model was refused" in made.output


def test_a_recorded_attempt_can_be_played_again(attempt):
    made = attempt("openhands")
    again = attempt("openhands", replay=made.folder.run)
    assert again.state.end == "completed", again.output
    assert again.server.requests == []
    assert again.submission.read_bytes() == made.submission.read_bytes()


def test_a_malformed_tool_call_is_survived(attempt):
    made = attempt("openhands", "fumbler")
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]


def test_failures_of_the_provider_are_not_seen(attempt):
    made = attempt("openhands", faults={1: Fault.rate_limit(), 3: Fault.error(500), 5: Fault.disconnect()})
    assert made.state.end == "completed", made.output
    assert made.state.model_use["failed_tries"] == 3


def test_a_request_that_the_model_refuses_is_an_error_of_the_agents(attempt):
    made = attempt("openhands", script=[Fault.error(400, "No tools, please")])
    assert made.state.end == "agent-error", made.output
    assert made.state.exit_code == 1
    assert "OpenHands after 0 steps: failed" in made.output


def test_an_endless_output_is_cut(attempt):
    script = [command("python -c \"print('x' * 10_000_000)\"; " + COPY), FINISH]
    made = attempt("openhands", script=script)
    assert made.state.end == "completed", made.output
    assert max(len(recorded.request.text) for recorded in made.server.requests) < 200_000
