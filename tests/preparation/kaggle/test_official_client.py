"""The stand-in is as the official client expects Kaggle to be: that client works against it, unchanged.

It is no dependency (thirty packages): install it somewhere (`uv tool install kaggle --with six`) so that it is on
PATH, or name its program in MLEBENCH_TEST_KAGGLE.
"""

import os
import shutil
import subprocess

import pytest

from kaggle_stand_in import Fault

PROGRAM = os.environ.get("MLEBENCH_TEST_KAGGLE") or shutil.which("kaggle")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="the official client is not there (MLEBENCH_TEST_KAGGLE, PATH)")


@pytest.fixture
def official(kaggle, tmp_path):
    """Call the program. It takes http://localhost for Kaggle, and this server for the proxy on the way there."""
    proxy = f"http://127.0.0.1:{kaggle.port}"
    environment = {
        **{"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KAGGLE_API_ENVIRONMENT": "LOCALHOST"},
        "KAGGLE_COMPETITION": "titanic",  # `pages` forgets the competition that it is given
        **{"HTTP_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""},
    }

    def call(*arguments, legacy=False, code=0):
        if legacy:
            key = {
                "KAGGLE_USERNAME": kaggle.legacy_credentials.username,
                "KAGGLE_KEY": kaggle.legacy_credentials.secret,
            }
        else:
            key = {"KAGGLE_API_TOKEN": kaggle.credentials.secret}
        command = [str(PROGRAM), *map(str, arguments)]
        result = subprocess.run(
            command, env=environment | key, capture_output=True, text=True, timeout=100, check=False
        )
        assert result.returncode == code, result.stdout + result.stderr
        return result.stdout + result.stderr

    return call


@pytest.fixture
def held(kaggle, packed):
    held = kaggle.add("titanic", packed())
    held.standings = [("the best", "0.9"), ("the second", "0.8")]
    held.pages = {"rules": "Be fair."}
    held.notebooks = {"annie/first-notebook": "print('first')"}
    return held


@pytest.mark.parametrize("legacy", [False, True], ids=["token", "legacy key"])
def test_download(official, held, tmp_path, legacy):
    official("competitions", "download", "titanic", "-p", tmp_path / "out", legacy=legacy)
    assert (tmp_path / "out" / "titanic.zip").read_bytes() == held.archive


def test_resumed_download(official, held, kaggle, tmp_path):
    kaggle.fail("storage", Fault.cut(100_000))
    official("competitions", "download", "titanic", "-p", tmp_path / "out")
    assert (tmp_path / "out" / "titanic.zip").read_bytes() == held.archive
    assert kaggle.calls("storage")[1].headers["if-range"].startswith('"')


def test_single_file(official, held, tmp_path):
    official("competitions", "download", "titanic", "-f", "folder/notes.txt", "-p", tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "of no interest\n"


def test_what_it_shows(official, held, tmp_path):
    told = official("competitions", "files", "titanic", "-v")
    assert "train.csv,300000,2022-02-11 21:13:01.123000" in told
    assert "titanic" in official("competitions", "list", "-s", "titanic", "-v")
    assert "the second" in official("competitions", "leaderboard", "titanic", "--show", "-v")
    assert "Be fair." in official("competitions", "pages", "titanic", "list", "--content")
    assert "annie/first-notebook" in official("kernels", "list", "--competition", "titanic", "-v")
    official("kernels", "pull", "annie/first-notebook", "-p", tmp_path / "code")
    assert (tmp_path / "code" / "first-notebook.py").read_text() == "print('first')"


def test_leaderboard_zip(official, held, tmp_path):
    official("competitions", "leaderboard", "titanic", "--download", "-p", tmp_path / "out")
    assert (tmp_path / "out" / "titanic.zip").read_bytes()[:2] == b"PK"


def test_rules(official, held):
    held.has_entered = False
    assert "You must accept this competition's rules" in official("competitions", "download", "titanic", code=1)


def test_unknown_competition(official):
    assert "Not found" in official("competitions", "files", "titanik", code=1)
