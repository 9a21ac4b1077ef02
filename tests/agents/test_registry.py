"""The registry of agents."""

import subprocess
import sys

import pytest

from mlebench import agents
from mlebench.errors import UsageError

OWN = """
title = "Mine"
summary = "Does as it likes."
command = ["python", "/home/agent/go.py"]
packages = ["json", "no_such_package"]
environment = { COLOUR = "blue" }

[[parameters]]
name = "steps"
type = "integer"
default = 5
help = "how many"

[[parameters]]
name = "quick"
type = "boolean"
default = false
help = "whether to hurry"
"""


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent.toml").write_text(OWN)
    return folder


def test_every_folder_with_files_is_a_built_in_agent():
    folders = {path.name for path in agents.BUILT_IN.iterdir() if path.is_dir() and any(path.glob("*.*"))}
    folders.discard("__pycache__")
    assert folders == set(agents.agents())
    assert "sample" in folders


@pytest.mark.parametrize("agent", agents.agents().values(), ids=lambda agent: agent.id)
def test_built_in_agents_are_trusted_and_start_a_file_they_have(agent):
    assert agent.built_in
    assert agent.title
    assert agent.summary
    for part in agent.command:
        if part.startswith("/home/agent/"):
            assert (agent.folder / part.removeprefix("/home/agent/")).is_file()


def test_a_folder_of_the_users_own(own):
    agent = agents.get(own)
    assert agent.id == "mine"
    assert not agent.built_in
    assert agent.command == ("python", "/home/agent/go.py")
    assert agents.get(str(own)) == agent


def test_parameters_become_variables(own):
    agent = agents.get(own)
    assert agent.variables() == {"COLOUR": "blue", "AGENT_STEPS": "5", "AGENT_QUICK": "false"}
    assert agent.variables({"steps": "7", "quick": "True"})["AGENT_STEPS"] == "7"
    assert agent.variables({"quick": True})["AGENT_QUICK"] == "true"


@pytest.mark.parametrize("given", [{"step": 1}, {"steps": "many"}, {"quick": "maybe"}])
def test_wrong_parameters_are_refused_by_name(own, given):
    with pytest.raises(UsageError, match=next(iter(given))):
        agents.get(own).variables(given)


def test_missing_packages_are_named(own):
    with pytest.raises(UsageError, match="no_such_package"):
        agents.get(own).require_packages()
    agents.get("sample").require_packages()


def test_unknown_agent_suggests_a_similar_one(tmp_path):
    with pytest.raises(UsageError, match='Did you mean "sample"'):
        agents.get("smaple")
    with pytest.raises(UsageError, match=r"has none of agent\.toml"):
        agents.get(tmp_path)


def test_a_folder_with_nothing_but_a_program_is_an_agent(tmp_path):
    (tmp_path / "start.sh").write_text("echo hello")
    assert agents.get(tmp_path).command == ("sh", "/home/agent/start.sh")
    (tmp_path / "main.py").touch()
    found = agents.get(tmp_path)
    assert found.command == ("python", "/home/agent/main.py")
    assert not found.trusted


def test_only_what_ships_is_trusted():
    assert {name for name, agent in agents.agents().items() if agent.trusted} == {"sample", "baseline"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Mine"', "", "title"),
        ('command = ["python", "/home/agent/go.py"]', 'command = "python go.py"', "list of strings"),
        ('COLOUR = "blue"', "COLOUR = 1", "table of strings"),
        ('type = "integer"', 'type = "whole"', "whole"),
        ("default = 5", 'default = "five"', "default"),
        ('summary = "Does as it likes."', 'summery = "?"', "summery"),
        ('title = "Mine"', "title = ", "Invalid value"),
    ],
)
def test_faulty_agent_toml_is_refused_with_file_and_reason(own, old, new, message):
    (own / "agent.toml").write_text(OWN.replace(old, new))
    with pytest.raises(UsageError, match=message) as caught:
        agents.get(own)
    assert "agent.toml" in str(caught.value)


def test_importing_the_registry_loads_nothing_heavy():
    code = "import sys, mlebench.agents as a; a.agents(); print('pandas' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
