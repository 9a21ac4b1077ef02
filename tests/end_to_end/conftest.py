"""A user's account at the server that stands in for Kaggle, and the program in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from mlebench import catalog
from mlebench.dataset import Dataset


@pytest.fixture(scope="session")
def twins_of(tmp_path_factory):
    """`twins_of(ids)`: their archives as Kaggle would have them, and what is in the edition; made once for all."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent  # which all workers share
    folder = folder / "kaggle-twins"
    folder.mkdir(exist_ok=True)

    def twins_of(ids, edition="v1"):
        from kaggle_stand_in import make_twins

        with FileLock(folder / ".lock"):
            return make_twins(ids, folder, edition)

    return twins_of


@pytest.fixture
def kaggle():
    from kaggle_stand_in import StandIn

    with StandIn() as server:
        yield server
    assert server.errors == []


@dataclass
class User:
    """Somebody with an account, a home folder and a data directory."""

    home: Path
    variables: dict[str, str]
    number: int = 0

    @property
    def data_dir(self):
        """Another one for each number."""
        return self.home / f"data-{self.number}"

    def start(self, *arguments, **options):
        """The program as a process of its own, which leads a group."""
        command = [sys.executable, "-m", "mlebench", *map(str, arguments)]
        return subprocess.Popen(
            command, env=self.environment, text=True, process_group=0, stdin=subprocess.DEVNULL, **options
        )

    @property
    def environment(self):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG", "TMPDIR")}
        return {**kept, "HOME": str(self.home), "COLUMNS": "200", **self.variables}

    def call(self, *arguments, code=0):
        """What the program says: both streams, the first of them alone as `stdout`."""
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stdout, stderr = process.communicate(timeout=500)
        assert process.returncode == code, stdout + stderr
        return Told(stdout, stderr)

    def prepare(self, ids, *options, code=0):
        """Prepare from Kaggle."""
        chosen = [part for name in ids for part in ("-c", name)]
        return self.call("prepare", *chosen, "--data-dir", self.data_dir, *options, code=code)

    def dataset(self, competition_id, edition="v1"):
        return Dataset(catalog.get(competition_id).in_edition(edition), self.data_dir)


@dataclass
class Told:
    """What a program said."""

    stdout: str
    stderr: str

    def __contains__(self, text):
        return text in self.stdout + self.stderr

    def __str__(self):
        return self.stdout + self.stderr

    def json(self):
        return json.loads(self.stdout)


@pytest.fixture
def user(kaggle, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return User(home, kaggle.environment)
