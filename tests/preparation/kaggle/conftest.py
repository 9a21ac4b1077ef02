"""The server that stands in for Kaggle, and a client of it."""

import numpy as np
import pytest

from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.patience import Patience


@pytest.fixture(autouse=True)
def _no_account_of_the_users(monkeypatch, tmp_path):
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):  # both below HOME then
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def kaggle():
    from kaggle_stand_in import StandIn

    with StandIn() as server:
        yield server
    assert server.errors == []


@pytest.fixture
def pauses():
    """The pauses that the client made, in seconds; none is really made."""
    return []


@pytest.fixture
def client(kaggle, pauses):
    patience = Patience(tries=4, sleep=pauses.append)
    with Client(kaggle.credentials, kaggle.url, patience, timeout=5) as opened:
        yield opened


@pytest.fixture
def packed():
    """Makes a zip of about the given size that can't be packed smaller."""
    import io
    import zipfile

    def pack(size=300_000, seed=0):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as opened:
            opened.writestr("train.csv", np.random.default_rng(seed).bytes(size))
            opened.writestr("folder/notes.txt", "of no interest\n")
        return content.getvalue()

    return pack


class Display:
    """Keeps what it is told to show."""

    def __init__(self):
        self.steps, self.done = [], {}

    def start(self, text, total, _unit=""):
        self.steps.append((text, total))
        self.done[len(self.steps)] = 0
        return len(self.steps)

    def advance(self, step, amount):
        self.done[step] += amount

    def finish(self, step):
        pass


@pytest.fixture
def display():
    return Display()
