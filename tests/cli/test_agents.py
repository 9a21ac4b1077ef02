"""`mlebench agents`."""

import json
import subprocess
import sys

import pytest

from mlebench import agents

OWN = """
title = "Mine"
summary = "Does as it likes."
command = ["python", "/home/agent/main.py"]

[software]
SOFTWARE

[[parameters]]
name = "steps"
type = "integer"
default = 5
help = "how many"
"""


@pytest.fixture
def mlebench(mlebench, tmp_path, monkeypatch):
    """Call the program: `mlebench("agents", "--json")`; nothing is built yet."""
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    return mlebench


@pytest.fixture
def own(tmp_path):
    """`own("python = '>=3.11'")`: an agent's folder."""

    def make(software="", name="mine"):
        (folder := tmp_path / name).mkdir()
        (folder / "agent.toml").write_text(OWN.replace("SOFTWARE", software))
        (folder / "main.py").write_text("")
        return folder

    return make


def test_alone_it_lists_the_agents(mlebench):
    lines = mlebench("agents").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(agents.agents())
    assert "this Python" in next(line for line in lines if line.startswith("sample"))
    facts = {fact["id"]: fact for fact in json.loads(mlebench("agents", "--json").stdout)}
    for agent in agents.agents().values():
        assert facts[agent.id]["needs_model"] == agent.needs_model
        assert (facts[agent.id]["environment"] == "this Python") == (agent.software is None)


def test_show(mlebench, own):
    text = mlebench("agents", "show", own("no_deps = ['six==1.17.0']")).stdout
    assert text.startswith("Mine (mine)\nDoes as it likes.\n")
    assert "steps  integer, 5        how many" in text
    assert 'is not built: "mlebench agents build ' in text
    assert "software     six==1.17.0\n" in text


def test_show_on_another_base(mlebench):
    facts = json.loads(mlebench("agents", "show", "sample", "--environment", "light", "--json").stdout)
    assert facts["software"] == {"base": "light"}
    assert facts["environment"] == "not built"
    text = mlebench("agents", "show", "sample", "--environment", "light").stdout
    assert '"mlebench agents build sample --environment light" does it' in text
    assert facts["command"] == ["python", "/home/agent/main.py"]


@pytest.mark.parametrize("agent", agents.agents())
def test_every_agent_can_be_shown(mlebench, agent):
    text = mlebench("agents", "show", agent).stdout
    for parameter in agents.get(agent).parameters:
        assert parameter.help in text


def test_build(mlebench, own):
    folder = own()
    built = mlebench("agents", "build", folder, "--json")
    (facts,) = json.loads(built.stdout)
    assert facts["id"] == "mine"
    said = built.stderr.splitlines()
    assert "mine: making a virtual environment" in said
    assert said[-1].startswith("mine: ready after ")
    ran = subprocess.run([f"{facts['python']}/bin/python", "-c", "print(1)"], capture_output=True, check=True)
    assert ran.stdout == b"1\n"
    assert (
        f"environment  built: {facts['python'].removesuffix('/python')}\n" in mlebench("agents", "show", folder).stdout
    )
    assert "is there already" in mlebench("agents", "build", folder).stderr


def test_there_is_nothing_to_build_for_an_agent_without_software(mlebench):
    (facts,) = json.loads(mlebench("agents", "build", "sample", "--json").stdout)
    assert facts["python"] == sys.prefix
    assert "nothing to build" in mlebench("agents", "build", "sample").stderr


def test_one_that_fails_does_not_keep_others_from_being_built(mlebench, own):
    impossible = own("python = '>=3.99'")
    result = mlebench("agents", "build", impossible, "sample", "--json", code=1)
    assert [facts["id"] for facts in json.loads(result.stdout)] == ["sample"]
    assert "needs Python >=3.99" in result.stderr
    assert "Error: not built: mine" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the agents to build for, or give --all"),
        (["--all", "sample"], "name the agents to build for, or give --all"),
        (["smaple"], 'Did you mean "sample"?'),
        (["sample", "--base-image", "debian"], "--base-image is for --sandbox docker"),
        (["sample", "--environment", "huge"], "'huge' is not one of 'light', 'standard'"),
    ],
)
def test_wrong_use(mlebench, arguments, message):
    assert message in mlebench("agents", "build", *arguments, code=2).stderr


def test_a_faulty_table_is_named_with_its_file(mlebench, own):
    folder = own("base = 'huge'")
    said = mlebench("agents", "show", folder, code=2).stderr
    assert f'{folder}/agent.toml: base of [software] is "huge"; there are light, standard' in said


@pytest.mark.slow
def test_what_is_built_for_another_base_is_told(mlebench, own):
    folder = own("base = 'standard'")
    mlebench("agents", "build", folder, "--environment", "light")
    assert json.loads(mlebench("agents", "show", folder, "--json").stdout)["environment"] == "built light"
    text = mlebench("agents", "show", folder).stdout
    assert "is not built" in text
