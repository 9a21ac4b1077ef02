"""`mlebench doctor`: what it finds is so, it says what to do, and it keeps secrets."""

import io
import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from rich.console import Console

from mlebench.cli import main
from mlebench.cli.doctor import render
from mlebench.doctor import Diagnosis, Finding, Section, disks, keys
from mlebench.sandbox import SANDBOXES, best, find_sandbox

SECRET = "sk-0123456789-do-not-tell"


@pytest.fixture
def doctor(tmp_path, monkeypatch):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def call(*arguments):
        return CliRunner().invoke(main, ["doctor", "--data-dir", str(tmp_path), *arguments])

    return call


def test_it_agrees_with_what_the_parts_say(doctor, tmp_path):
    result = doctor("--json")
    found = json.loads(result.stdout)
    works = {each["name"]: each["works"] for each in found["sandboxes"]}
    assert set(works) == {*SANDBOXES, "auto"}
    assert all((find_sandbox(name).unavailable() is None) == (works[name] is not False) for name in SANDBOXES)
    assert found["sandbox"] == best()[0]
    assert result.exit_code == (0 if found["sandbox"] else 1)
    assert str(tmp_path) in next(each["text"] for each in found["disk"] if each["name"] == "data")
    assert {each["name"]: each["works"] for each in found["agents"]}["sample"]
    aide = next(each for each in found["agents"] if each["name"] == "aide")
    assert aide["works"] is None
    assert "mlebench agents build aide" in aide["text"]


def test_of_keys_only_the_names_are_told(doctor):
    for arguments in ((), ("--json",)):
        output = doctor(*arguments).output
        assert "OPENAI_API_KEY" in output
        assert SECRET not in output
    found = {each["name"]: each["works"] for each in json.loads(doctor("--json").stdout)["model_keys"]}
    assert found["OPENAI_API_KEY"] is True
    assert found["ANTHROPIC_API_KEY"] is None


def test_keys_of_own_upstreams(tmp_path):
    models = tmp_path / "models.toml"
    models.write_text('[upstreams.ours]\nurl = "http://127.0.0.1:1"\nkey = "OUR_KEY"\ndialects = ["openai-chat"]\n')
    found = {each.name: each for each in keys({"MLEBENCH_MODELS": str(models), "OUR_KEY": "x"})}
    assert found["OUR_KEY"].works
    assert "ours/" in found["OUR_KEY"].text
    models.write_text("nonsense")
    found = {each.name: each for each in keys({"MLEBENCH_MODELS": str(models)})}
    assert found["MLEBENCH_MODELS"].works is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_can_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    data = next(disks(tmp_path / "data", tmp_path / "runs"))
    assert data.works is False
    assert "MLEBENCH_DATA_DIR" in data.advice


def test_a_machine_that_can_not_isolate_agents(tmp_path):
    """Neither bwrap nor an engine: exit code 1, and what to do about either."""
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    command = [sys.executable, "-m", "mlebench", "doctor"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert "apt-get install bubblewrap" in result.stdout
    assert "no container engine answers" in result.stdout
    assert "finds no sandbox that isolates" in result.stdout
    assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_the_first_that_works_is_best(monkeypatch, tmp_path):
    name, reasons = best()
    assert all(find_sandbox(other).unavailable() == reason for other, reason in reasons)
    assert name is None or find_sandbox(name).unavailable() is None
    assert name != "none"


def test_long_words_stay_in_their_column():
    finding = Finding("a name", False, "what " * 30, "do " * 30)
    console = Console(file=io.StringIO(), width=80)
    render(Diagnosis(None, (Section("Things", (finding,)),)), console)
    title, first, *others = console.file.getvalue().splitlines()
    assert title.strip() == "Things"
    column = first.index("what")
    assert all(line[:column].strip() == "" for line in others)
    assert all(len(line) <= 80 for line in others)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_programs_tell_their_version(doctor):
    node = next(each for each in json.loads(doctor("--json").stdout)["programs"] if each["name"] == "node")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert version.lstrip("v") in node["text"]
