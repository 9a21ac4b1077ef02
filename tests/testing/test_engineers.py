"""Every engineer, asked by agents of every kind, does what its name says."""

import json
import subprocess
import sys

import httpx
import pytest

from mlebench import catalog
from mlebench.grading import grade, validate_submission
from mlebench.testing import Done, Execute, Look, Plan, Planned, Reply, Run, Write, engineers_by_name, script, serve
from mlebench.testing.engineers.plan import SCRIPTS

TOOL_AGENTS = ["mini-swe-agent", "openhands", "claude-code", "codex", "codex-shell", "gemini"]
TEXT_AGENTS = ["research-agent", "research-agent-that-writes"]
AGENTS = [*TOOL_AGENTS, *TEXT_AGENTS]


@pytest.fixture
def server():
    with serve() as server:
        yield server


@pytest.fixture
def score(twins):
    """The score of what an agent handed in."""

    def of(path, competition="spaceship-titanic"):
        report = grade(path, twins(competition))
        assert report.valid_submission, report.reason
        return report.score

    return of


@pytest.fixture
def sample_score(twins, score):
    return score(twins("spaceship-titanic").sample_submission)


def recorded(agent, name):
    return json.loads((agent.world.home / "logs" / name).read_text())


# --- agents that act step by step


@pytest.mark.parametrize("agent", AGENTS)
def test_the_solver_beats_the_sample(agent, server, work, score, sample_score):
    done = work(agent, server, "solver")
    assert done.finished
    assert score(done.world.submission) > sample_score + 0.1
    assert server.use["solver"].requests == len(server.requests)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_stumbler_needs_three_attempts(agent, server, work, score, sample_score):
    done = work(agent, server, "stumbler")
    failed = [output for output in done.world.outputs if "KeyError" in output]
    assert len(failed) == 2
    assert score(done.world.submission) > sample_score + 0.1


@pytest.mark.parametrize("agent", AGENTS)
def test_the_looper_never_ends(agent, server, work, score, sample_score):
    instant = Plan([Look(), Write("wait.py", script("solve", SAMPLE_ONLY=True)), Execute("wait.py"), Run("echo again")])
    with serve({"looper": Planned(instant)}) as quick:
        done = work(agent, quick, "looper", stop_after=15)
    assert not done.finished
    assert sum(output == "again\n" for output in done.world.outputs) >= 5
    assert score(done.world.submission) == sample_score
    last = engineers_by_name()["looper"].plan.steps[-1]  # pyright: ignore[reportFunctionMemberAccess]
    assert last == Run("sleep 2; date")  # the built-in one differs in that it waits


@pytest.mark.parametrize("agent", ["codex", "research-agent"])
def test_what_the_forbidden_model_answered_is_recorded(agent, server, work, score):
    done = work(agent, server, "forbidden")
    answer = recorded(done, "forbidden.json")
    assert answer["model"] == "forbidden-model"
    assert answer["status"] is None  # nobody listens where the agent's environment names no address
    assert score(done.world.submission) > 0.6


def test_the_forbidden_model_is_asked_for_with_the_agents_own_key(tmp_path):
    environment = {"LOGS_DIR": str(tmp_path), "OPENAI_API_KEY": "right"}
    with serve({"allowed": ["Yes."]}, key="right") as server:
        command = [sys.executable, SCRIPTS / "forbidden.py"]
        subprocess.run(command, env={**environment, "OPENAI_BASE_URL": f"{server.url}/v1"}, check=True)
    assert [each.request.model for each in server.requests] == ["forbidden-model"]
    answer = json.loads((tmp_path / "forbidden.json").read_text())
    assert answer["status"] == 404
    assert "model_not_found" in answer["text"]


@pytest.mark.parametrize("agent", ["claude-code", "research-agent"])
def test_the_spy_records_what_it_reached(agent, server, work, score, sample_score):
    done = work(agent, server, "spy")
    report = recorded(done, "spy.json")
    assert {"network 1.1.1.1:443", "folder /private", "environment of process 1", "answers"} <= set(report)
    assert report["answers"]["reached"]  # there is no sandbox here: the twin's answers stand beside its data
    assert score(done.world.submission) == sample_score
    said = json.dumps([each.reply.calls or each.reply.text for each in server.requests if each.reply], default=str)
    assert all(word in said for word in ("/private", "/proc/1/environ", "pypi.org"))


@pytest.mark.parametrize("agent", ["mini-swe-agent", "research-agent"])
def test_the_babbler_says_and_prints_a_great_deal(agent, server, work, score, sample_score):
    done = work(agent, server, "babbler")
    assert max(map(len, done.world.outputs)) > 4_000_000
    assert max(len(each.reply.text) for each in server.requests) > 200_000
    assert score(done.world.submission) > sample_score + 0.1


@pytest.mark.parametrize("agent", AGENTS)
def test_the_fumbler_recovers(agent, server, work, score, sample_score):
    done = work(agent, server, "fumbler")
    first = server.requests[0].reply
    assert first.calls[0].parsed is None if agent in TOOL_AGENTS else "Thought" not in first.text
    assert score(done.world.submission) > sample_score + 0.1


@pytest.mark.parametrize(
    ("agent", "tool"), [("claude-code", "Write"), ("openhands", "file_editor"), ("gemini", "write_file")]
)
def test_files_are_written_by_the_tool_for_it(agent, tool, server, work):
    assert tool in work(agent, server, "solver").calls


def test_agents_at_the_same_engineer_dont_disturb_each_other(server, work, score, sample_score):
    first = work("claude-code", server, "stumbler")
    second = work("codex", server, "stumbler")
    for done in (first, second):
        assert sum("KeyError" in output for output in done.world.outputs) == 2
        assert score(done.world.submission) > sample_score + 0.1


# --- AIDE


def test_the_climber_is_best_at_first(server, work, score):
    nodes = work("aide", server, "climber").nodes
    metrics = [node["metric"] for node in nodes]
    assert not any(node["is_bug"] for node in nodes)
    assert metrics[0] > metrics[1] > metrics[2]
    assert not any(node["lower_is_better"] for node in nodes)


def test_the_climbers_last_file_is_not_its_best(server, work, score, sample_score):
    last = score(work("aide", server, "climber").world.home / "working" / "submission.csv")
    best = score(work("codex", server, "solver").world.submission)
    assert last < best - 0.1


def test_the_stumbler_crashes_twice_in_aide(server, work, score, sample_score):
    done = work("aide", server, "stumbler")
    assert [node["is_bug"] for node in done.nodes] == [True, True, False]
    assert [node["metric"] is None for node in done.nodes] == [True, True, False]
    assert score(done.world.home / "working" / "submission.csv") > sample_score + 0.1


@pytest.mark.parametrize("engineer", ["solver", "fumbler", "babbler", "forbidden", "spy", "looper"])
def test_engineers_work_in_aide(engineer, server, work, score, sample_score):
    done = work("aide", server, engineer, stop_after=2)
    assert not any(node["is_bug"] for node in done.nodes)
    found = score(done.world.home / "working" / "submission.csv")
    if engineer in ("spy", "looper"):
        assert found == sample_score
    else:
        assert found > sample_score + 0.1


def test_code_of_two_nodes_differs(server, work):
    first, second = work("aide", server, "solver", stop_after=2).nodes
    assert "ATTEMPT = 1\n" in first["code"]
    assert "ATTEMPT = 2\n" in second["code"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Validation accuracy: 0.5", (False, 0.5, False)),
        ("Validation rmse: 1e-3", (False, 0.001, True)),
        ("epoch 1\nValidation loss: 3\nValidation loss: 2", (False, 2.0, True)),
        ("Validation accuracy: 0.5\nTraceback (most recent call last):\n  KeyError", (True, None, False)),
        ("nothing to see", (True, None, False)),
    ],
)
def test_reviews_say_what_the_output_says(output, expected, server):
    body = {
        "model": "solver",
        "messages": [
            {"role": "system", "content": f"# Implementation\nValidation loss: 9\n# Execution output\n{output}"}
        ],
        "tools": [{"type": "function", "function": {"name": "submit_review"}}],
        "tool_choice": {"type": "function", "function": {"name": "submit_review"}},
    }
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=body).json()
    review = json.loads(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
    assert (review["is_bug"], review["metric"], review["lower_is_better"]) == expected
    assert review["metric"] is None or isinstance(review["metric"], float)


# --- scripts and plans


@pytest.mark.parametrize("competition", ["leaf-classification", "dogs-vs-cats-redux-kernels-edition"])
def test_the_solver_hands_in_the_sample_elsewhere(competition, server, work, twins, score):
    done = work("codex", server, "solver", competition=competition)
    assert done.world.submission.read_bytes() == twins(competition).sample_submission.read_bytes()
    assert score(done.world.submission, competition) is not None


@pytest.mark.slow
@pytest.mark.parametrize("competition", catalog.competitions())
def test_the_solver_hands_in_something_valid_everywhere(competition, twins, tmp_path):
    dataset = twins(competition)
    environment = {"DATA_DIR": str(dataset.public), "SUBMISSION_DIR": str(tmp_path)}
    subprocess.run([sys.executable, SCRIPTS / "solve.py"], env=environment, check=True)
    result = validate_submission(tmp_path / "submission.csv", dataset)
    assert result.valid, result.message()


def test_the_solver_learns_with_packages_too(twins, tmp_path, score, sample_score):
    environment = {"DATA_DIR": str(twins("spaceship-titanic").public), "SUBMISSION_DIR": str(tmp_path)}
    command = [sys.executable, "-v", SCRIPTS / "solve.py"]  # -v names the modules that are imported
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "import 'sklearn.linear_model" in done.stderr
    assert score(tmp_path / "submission.csv") > sample_score + 0.1


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.name)
def test_scripts_fit_into_a_markdown_block(path):
    assert "```" not in path.read_text()


def test_settings_of_scripts_are_lines_of_them():
    assert "\nQUALITY = 0.25\n" in script("solve", QUALITY=0.25)
    with pytest.raises(KeyError, match="SIZE"):
        script("solve", SIZE=1)


def test_your_own_plan(work, tmp_path):
    plan = Plan([Look(), Write("hello.py", "print('hello')\n"), Execute("hello.py"), Done("That is all.")])
    with serve(Planned(plan)) as server:
        done = work("gemini", server, "any")
    assert "hello\n" in done.world.outputs
    assert server.requests[-1].reply.text == "That is all."


# --- questions beside the work


def test_a_plain_question_gets_words(server):
    body = {"model": "solver", "messages": [{"role": "user", "content": "How does the weather look?"}]}
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=body).json()
    assert answer["choices"][0]["message"]["content"] == "In short: How does the weather look?"


def test_a_plain_question_for_a_script_gets_one(server):
    body = {"model": "solver", "messages": [{"role": "user", "content": "Write a Python script that solves it."}]}
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=body).json()
    assert script("solve") in answer["choices"][0]["message"]["content"]


def test_an_unknown_forced_function_is_called_by_its_schema(server):
    parameters = {
        "type": "object",
        "required": ["verdict", "sure", "count"],
        "properties": {"verdict": {"enum": ["good", "bad"]}, "sure": {"type": "boolean"}, "count": {"type": "integer"}},
    }
    body = {
        "model": "solver",
        "messages": [{"role": "user", "content": "Judge."}],
        "tools": [{"name": "judge", "input_schema": parameters}],
        "tool_choice": {"type": "tool", "name": "judge"},
    }
    answer = httpx.post(f"{server.url}/v1/messages", json=body).json()
    assert answer["content"][0]["input"] == {"verdict": "good", "sure": False, "count": 1}


def test_answers_need_not_be_replies():
    with serve(lambda request: f"You said: {request.last}") as server:
        body = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}
        answer = httpx.post(f"{server.url}/v1/messages", json=body).json()
    assert answer["content"] == [{"type": "text", "text": "You said: hi"}]
    assert server.requests[0].reply == Reply("You said: hi")
