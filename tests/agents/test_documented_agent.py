"""The agent that docs/agents.md shows in full, as it stands there."""

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from mlebench import agents, testing
from mlebench.environments import Software
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder
from mlebench.sandbox import find_sandbox

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"


def block(heading, language):
    """The first block of a language below a heading."""
    _, _, text = PAGE.partition(f"\n{heading}\n")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, f"no {language} below {heading}"
    return found.group(1)


@pytest.fixture
def attempt(twins, tmp_path):
    folder = tmp_path / "asker"
    folder.mkdir()
    (folder / "agent.toml").write_text(block("## Your own", "toml"))
    (folder / "main.py").write_text(block("## Your own", "python"))
    dataset = twins("spaceship-titanic")

    def make(**options):
        with testing.serve() as server:
            models = tmp_path / "models.toml"
            models.write_text(f'[upstreams.scripted]\nurl = "{server.url}"\n')
            run, _ = plan_run(
                agent=str(folder),
                competitions=[dataset.competition],
                data_dir=dataset.data_dir,
                runs_dir=tmp_path / "runs",
                time_limit_seconds=120,
                sandbox=SANDBOX,
                model="scripted/stumbler",
                models_file=models,
                **options,
            )
            assert execute(run, lambda _: None)
        return AttemptFolder(run, "spaceship-titanic", 0)

    return make


def test_it_asks_until_its_submission_is_valid(attempt):
    made = attempt()
    output = (made.path / "output.txt").read_text()
    assert made.state().end == "completed", output
    assert made.state().model_use["requests"] == 3
    assert output.count("KeyError: 'column that is not there") == 2
    assert json.loads(made.grade_path.read_text())["score"] > 0.6


def test_it_ends_when_its_budget_is_spent(attempt):
    made = attempt(budget={"max_requests": 1})
    assert (made.state().end, made.state().exit_code) == ("budget-spent", 1)
    assert "401 Unauthorized" in (made.path / "output.txt").read_text()


def test_it_gives_up_after_as_many_programs_as_it_is_told(attempt):
    made = attempt(agent_parameters={"tries": "2"})
    assert (made.state().end, made.state().model_use["requests"]) == ("completed", 2)
    assert json.loads(made.grade_path.read_text())["submission_exists"] is False


def test_the_page_shows_all_keys_and_they_are_right(tmp_path):
    text = block("### agent.toml, all keys", "toml")
    (tmp_path / "agent.toml").write_text(text)
    agent = agents.get(tmp_path)
    assert set(tomllib.loads(text)) == agents._KEYS
    assert agent.needs_model
    assert agent.warning_signal == "SIGUSR1"
    assert agent.variables({"trees": "500"}) == {"OMP_NUM_THREADS": "2", "AGENT_TREES": "500"}
    for name in (*agents.DIALECTS, *agents.WARNING_SIGNALS, *agents.PARAMETER_TYPES):
        assert re.search(rf"\b{name}\b", text), name


def test_the_keys_of_software_stand_in_their_page():
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    for entry in fields(Software):
        if entry.compare:
            assert re.search(rf"^{entry.name} = ", page, re.MULTILINE), entry.name


@pytest.mark.parametrize("agent", agents.agents().values(), ids=lambda agent: agent.id)
def test_every_built_in_agent_stands_in_the_table(agent):
    row = re.search(rf"^\| \[?`{agent.id}`.*$", PAGE, re.MULTILINE)
    assert row, agent.id
    names = {"openai-chat": "OpenAI chat", "openai-responses": "OpenAI responses", "anthropic": "Anthropic"}
    told = [names.get(dialect, "Google") for dialect in agent.dialects] or ["no model"]
    assert row.group().split(" | ")[3].removesuffix(", or any") == ", ".join(told)
