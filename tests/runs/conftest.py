"""Twins, agents made of a few lines, and runs of them."""

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.runs.runner import execute, plan_run
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
IDS = ("spaceship-titanic", "spooky-author-identification")


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for competition_id in IDS:
        prepare(Dataset(catalog.get(competition_id), folder), Synthetic(rows=60))
    return folder


@pytest.fixture
def agent(tmp_path):
    """Make an agent out of a Python program."""

    def make(program, name="mine"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "agent.toml").write_text('title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\n')
        (folder / "main.py").write_text("import os, shutil, sys, time\nDATA, OUT = os.environ['DATA_DIR'], "
                                        "os.environ['SUBMISSION_DIR'] + '/submission.csv'\n" + program)  # fmt: skip
        return str(folder)

    return make


@pytest.fixture
def run(tmp_path, data_dir):
    def start(agent, ids=IDS[:1], **options):
        options = {"time_limit_seconds": 60, "sandbox": SANDBOX, "name": "r"} | options
        competitions = [catalog.get(competition_id) for competition_id in ids]
        folder, _ = plan_run(agent=agent, competitions=competitions, data_dir=data_dir, runs_dir=tmp_path, **options)
        execute(folder, lambda _: None)
        return folder

    return start
