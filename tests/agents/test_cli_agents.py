"""The agents `codex`, `claude-code` and `gemini-cli`: their adapters, and whole attempts with the true programs."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mlebench import agents, environments
from mlebench.testing import Done, Fault, Look, Plan, Planned, Reply, Run

PROGRAMS = {"codex": "codex", "claude-code": "claude", "gemini-cli": "gemini"}
SEARCHING = {"web_search", "web_search_preview", "WebSearch", "WebFetch", "google_web_search", "web_fetch"}
STAND_IN = """\
#!{python}
import json, os, sys
told = {{"arguments": sys.argv[1:], "input": sys.stdin.read(), "folder": os.getcwd(), "environment": dict(os.environ)}}
print(json.dumps(told))
sys.exit(7)
"""

every_agent = pytest.mark.parametrize("agent", PROGRAMS)


# --- the adapters: a program in place of the true one says what it was given


@dataclass(frozen=True)
class Told:
    """What the program was given."""

    arguments: list[str]
    input: str
    folder: str
    environment: dict[str, str]
    home: Path
    exit_code: int

    @property
    def codex_config(self) -> dict[str, Any]:
        return tomllib.loads((self.home / ".codex" / "config.toml").read_text())

    @property
    def gemini_settings(self) -> dict[str, Any]:
        return json.loads((self.home / ".gemini" / "settings.json").read_text())


@pytest.fixture
def start(tmp_path):
    """Start an adapter; `start(agent, prompt, **parameters)`."""
    for name in ("bin", "home", "code", "logs"):
        (tmp_path / name).mkdir()

    def run(agent_id: str, prompt: str = "Solve it.", **parameters: str) -> Told:
        agent = agents.get(agent_id)
        program = tmp_path / "bin" / PROGRAMS[agent_id]
        program.write_text(STAND_IN.format(python=sys.executable))
        program.chmod(0o755)
        (tmp_path / "prompt.txt").write_text(prompt)
        url = 'http://localhost:5100/"odd"'
        variables = {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "HOME": str(tmp_path / "home"),
            "CODE_DIR": str(tmp_path / "code"),
            "LOGS_DIR": str(tmp_path / "logs"),
            "PROMPT_FILE": str(tmp_path / "prompt.txt"),
            "TIME_LIMIT_SECS": "86400",
            "MLEBENCH_MODEL": "some-model",
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
        }
        done = subprocess.run(
            [sys.executable, str(agent.folder / "main.py")],
            env=variables | agent.variables(parameters),
            cwd=tmp_path / "code",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return Told(**json.loads(done.stdout), home=tmp_path / "home", exit_code=done.returncode)

    return run


@every_agent
def test_a_prompt_of_any_length_is_standard_input_and_the_exit_code_is_the_programs(start, tmp_path, agent):
    prompt = "Predict the level of the rivers. " * 10_000 + "The end.\n"  # longer than an argument may be
    told = start(agent, prompt)
    assert told.input == prompt
    assert told.folder == str(tmp_path / "code")
    assert told.exit_code == 7
    assert any("some-model" in given for given in [*told.arguments, told.environment.get("ANTHROPIC_MODEL", "")])


@every_agent
def test_what_is_written_to_the_sessions_is_kept_in_the_logs(start, tmp_path, agent):
    told = start(agent)
    folder = {"codex": ".codex/sessions", "claude-code": ".claude/projects", "gemini-cli": ".gemini/tmp"}[agent]
    (told.home / folder / "session.jsonl").write_text("{}")
    assert (tmp_path / "logs" / "sessions" / "session.jsonl").read_text() == "{}"


@every_agent
def test_further_arguments_are_read_as_a_shell_would(start, agent):
    told = start(agent, extra_arguments="--name 'two words' --flag")
    assert shlex.join(["--name", "two words", "--flag"]) in shlex.join(told.arguments)


def test_codex_parameters(start, tmp_path):
    told = start("codex", reasoning_effort="high")
    assert told.arguments[0] == "exec"
    assert told.arguments[-1] == "-"
    assert '--config=model_reasoning_effort="high"' in told.arguments
    assert told.environment["CODEX_HOME"] == str(told.home / ".codex")
    assert told.codex_config["web_search"] == "disabled"
    assert told.codex_config["model_providers"]["gateway"]["base_url"] == 'http://localhost:5100/"odd"/v1'


def test_codex_asks_for_no_effort_by_default(start):
    assert not any(argument.startswith("--config") for argument in start("codex").arguments)


def test_claude_code_parameters(start):
    told = start("claude-code", reasoning_effort="max", max_turns="20", max_output_tokens="64000")
    assert {"--effort=max", "--max-turns=20", "--disallowedTools=WebSearch,WebFetch"} <= {*told.arguments}
    assert told.environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "64000"
    assert told.environment["BASH_MAX_TIMEOUT_MS"] == "86400000"
    models = {value for name, value in told.environment.items() if name.startswith("ANTHROPIC") and "MODEL" in name}
    assert models == {"some-model"}


def test_claude_code_has_no_limits_by_default(start):
    told = start("claude-code")
    assert not any(argument.startswith(("--max-turns", "--effort")) for argument in told.arguments)
    assert "CLAUDE_CODE_MAX_OUTPUT_TOKENS" not in told.environment


@pytest.mark.parametrize(("turns", "limit"), [("0", -1), ("20", 20)])
def test_gemini_parameters(start, turns, limit):
    settings = start("gemini-cli", max_turns=turns).gemini_settings
    assert settings["model"] == {"maxSessionTurns": limit, "disableLoopDetection": True}
    assert {"google_web_search", "web_fetch"} == {*settings["tools"]["exclude"]}
    assert settings["tools"]["shell"]["inactivityTimeout"] == 86400


def test_gemini_may_look_for_loops(start):
    assert start("gemini-cli", loop_detection="true").gemini_settings["model"]["disableLoopDetection"] is False


def test_gemini_asks_for_one_model_whoever_of_its_agents_asks(start):
    overrides = start("gemini-cli").gemini_settings["modelConfigs"]["overrides"]
    assert {override["modelConfig"]["model"] for override in overrides} == {"some-model"}
    assert {"core", "codebase_investigator"} <= {override["match"]["overrideScope"] for override in overrides}


# --- whole attempts with the true programs, which are built first


@pytest.fixture(scope="module")
def built():
    """Build an agent's environment, unless it is there."""

    def build(agent: str) -> None:
        environments.build(agents.get(agent).software_for("light"), "bubblewrap")

    return build


def commands(*lines):
    """An engineer that looks, runs these commands and is done."""
    return Planned(Plan([Look(), *map(Run, lines), Done()]))


def session_record(made):
    """All that the agent's own record of the session says."""
    return "".join(path.read_text() for path in sorted((made.logs / "sessions").rglob("*.jsonl")))


@pytest.mark.slow
@every_agent
def test_a_whole_attempt(attempt, built, agent):
    built(agent)
    made = attempt(agent)
    assert made.state.end == "completed", made.output
    assert made.state.exit_code == 0
    assert made.grade["valid_submission"]
    use, told = made.state.model_use, made.server.total
    assert (use["requests"], use["input_tokens"], use["output_tokens"]) == (5, told.input_tokens, told.output_tokens)
    assert use["removed_tools"] == {}  # it asks for none that the provider would execute
    assert "Submission is valid." in session_record(made)
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.slow
@every_agent
def test_what_the_model_is_told(attempt, built, agent):
    built(agent)
    made = attempt(agent)
    prompt = (made.folder.path / "prompt.txt").read_text()
    description = prompt.rpartition("description.md\n")[2].strip()
    for recorded in made.server.requests:
        assert recorded.request.model == "solver"
        assert recorded.request.text.count(description) == 1
        assert recorded.request.text.count("- Time: 3 min") == 1
        offered = {tool.name for tool in recorded.request.tools} | {tool.kind for tool in recorded.request.tools}
        assert not offered & SEARCHING


@pytest.mark.slow
@pytest.mark.parametrize("helper", ["codebase_investigator", "cli_help"])
def test_helpers_of_the_gemini_cli_ask_for_the_runs_model(attempt, built, helper):
    def engineer(request):
        if request.tool("invoke_agent") is None:
            return Reply.call("complete_task", {"result": "-", "report": "-", "response": "-"})
        invoked = any(call.name == "invoke_agent" for message in request.messages for call in message.calls)
        return "Done." if invoked else Reply.call("invoke_agent", {"agent_name": helper, "prompt": "Look around."})

    built("gemini-cli")
    made = attempt("gemini-cli", script=engineer)
    assert made.state.end == "completed", made.output
    assert any(recorded.request.tool("invoke_agent") is None for recorded in made.server.requests)
    assert {recorded.request.model for recorded in made.server.requests} == {"solver"}


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "place"), [("codex", "reasoning"), ("claude-code", "output_config")])
def test_the_effort_that_is_asked_for_reaches_the_model(attempt, built, agent, place):
    built(agent)
    made = attempt(agent, parameters={"reasoning_effort": "low"})
    assert {recorded.body[place]["effort"] for recorded in made.server.requests} == {"low"}


@pytest.mark.slow
def test_claude_codes_limit_of_an_answer_reaches_the_model(attempt, built):
    built("claude-code")
    made = attempt("claude-code", parameters={"max_output_tokens": 5000})
    assert {recorded.body["max_tokens"] for recorded in made.server.requests} == {5000}


@pytest.mark.slow
@every_agent
def test_commands_find_the_python_and_the_packages_of_the_environment(attempt, built, agent):
    built(agent)
    made = attempt(agent, script=commands('python -c "import lightgbm, sys; print(sys.prefix, lightgbm.__version__)"'))
    assert made.state.end == "completed", made.output
    built_python = environments.find(agents.get(agent).software_for("light"), "bubblewrap").python
    assert f"{built_python} " in session_record(made)


@pytest.mark.slow
@every_agent
def test_a_budget_that_is_spent_in_mid_run(attempt, built, agent):
    built(agent)
    made = attempt(agent, max_requests=3)
    assert made.state.end == "budget-spent", made.output
    assert made.state.model_use["requests"] == 3
    assert made.grade["valid_submission"]  # by what the third answer had it run
    assert "the budget is spent" in made.output


@pytest.mark.slow
@every_agent
def test_a_recorded_attempt_can_be_played_again(attempt, built, agent):
    built(agent)
    made = attempt(agent)
    again = attempt(agent, replay=made.folder.run)
    assert again.state.end == "completed", again.output
    assert again.server.requests == []
    assert again.state.model_use["replayed"] + again.state.model_use["replayed_next"] >= 5
    assert again.submission.read_bytes() == made.submission.read_bytes()


@pytest.mark.slow
@every_agent
def test_a_deadline(attempt, built, agent):
    built(agent)
    made = attempt(agent, "looper", seconds=25)
    assert made.state.end == "timeout", made.output
    assert made.grade["valid_submission"]
    assert made.state.model_use["requests"] > 3
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.slow
@every_agent
def test_a_malformed_tool_call_is_survived(attempt, built, agent):
    built(agent)
    made = attempt(agent, "fumbler")
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]


@pytest.mark.slow
@every_agent
def test_failures_of_the_provider_are_not_seen(attempt, built, agent):
    built(agent)
    made = attempt(agent, faults={1: Fault.rate_limit(), 3: Fault.error(500), 5: Fault.broken_stream()})
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert made.state.model_use["failed_tries"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "exit_code"), [("claude-code", 1), ("gemini-cli", 53)])
def test_turns_that_are_used_up(attempt, built, agent, exit_code):
    built(agent)
    made = attempt(agent, parameters={"max_turns": 2})
    assert (made.state.end, made.state.exit_code) == ("agent-error", exit_code), made.output
    assert made.state.model_use["requests"] == 2
