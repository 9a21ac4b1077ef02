"""Where credentials are found, in which order, and that they are never shown or written."""

import base64
import json
import os
import subprocess
import sys

import pytest

from mlebench.errors import UsageError
from mlebench.preparation.kaggle.credentials import find_credentials


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_order(home):
    """Each way is taken once all before it are gone."""
    environment = {"HOME": str(home), "KAGGLE_API_TOKEN": "one\n", "KAGGLE_USERNAME": "ann", "KAGGLE_KEY": "four"}
    second = put(home / ".kaggle" / "access_token", "two\n")
    third = put(home / ".kaggle" / "access_token.txt", "three")
    fifth = put(home / ".kaggle" / "kaggle.json", {"username": "bob", "key": "five"})
    put(home / ".config" / "kaggle" / "kaggle.json", {"username": "bob", "key": "six"})

    def secret():
        return find_credentials(environment).secret

    assert secret() == "one"
    del environment["KAGGLE_API_TOKEN"]
    assert secret() == "two"
    second.unlink()
    assert secret() == "three"
    third.unlink()
    assert secret() == "four"
    del environment["KAGGLE_USERNAME"], environment["KAGGLE_KEY"]
    assert secret() == "five"
    fifth.unlink()
    assert secret() == "six"


def test_a_token_in_a_file_that_the_variable_names(home):
    path = put(home / "elsewhere", "token\n")
    found = find_credentials({"HOME": str(home), "KAGGLE_API_TOKEN": str(path)})
    assert found.authorization == "Bearer token"
    assert str(path) in found.source


def test_the_configuration_folder(home, tmp_path):
    put(home / ".kaggle" / "kaggle.json", {"username": "bob", "key": "not this"})
    put(tmp_path / "own" / "kaggle.json", {"username": "ann", "key": "this"})
    found = find_credentials({"HOME": str(home), "KAGGLE_CONFIG_DIR": str(tmp_path / "own")})
    assert base64.b64decode(found.authorization.removeprefix("Basic ")) == b"ann:this"


def test_a_variable_goes_before_the_same_in_the_file(home):
    put(home / ".kaggle" / "kaggle.json", {"username": "bob", "key": "in the file".replace(" ", "-")})
    assert find_credentials({"HOME": str(home), "KAGGLE_USERNAME": "ann"}).username == "ann"


def test_none_is_told_in_one_paragraph_and_nothing_is_made(home):
    with pytest.raises(UsageError) as error:
        find_credentials({"HOME": str(home)})
    told = str(error.value)
    assert "\n" not in told
    for way in ("https://www.kaggle.com/settings", "KAGGLE_API_TOKEN", "kaggle.json", "--source FILE.zip", "synthetic"):
        assert way in told
    assert list(home.iterdir()) == []


def test_an_empty_file_is_none(home):
    put(home / ".kaggle" / "access_token", "\n")
    with pytest.raises(UsageError, match="no Kaggle credentials"):
        find_credentials({"HOME": str(home)})


@pytest.mark.parametrize("content", ["{", "[]", {"username": "ann"}, {"username": "ann", "key": 7}])
def test_a_damaged_key_file_is_named(home, content):
    path = put(home / ".kaggle" / "kaggle.json", content)
    with pytest.raises(UsageError, match=f"{path} is no Kaggle key"):
        find_credentials({"HOME": str(home)})


def test_half_a_key_is_told(home):
    with pytest.raises(UsageError, match="KAGGLE_USERNAME is set and KAGGLE_KEY is not"):
        find_credentials({"HOME": str(home), "KAGGLE_USERNAME": "ann"})


@pytest.mark.parametrize("secret", ["two words", "two\nlines", "höher"])
def test_what_can_be_no_token_is_refused_without_showing_it(home, secret):
    with pytest.raises(UsageError, match="KAGGLE_API_TOKEN holds no Kaggle token") as error:
        find_credentials({"HOME": str(home), "KAGGLE_API_TOKEN": secret})
    assert secret not in str(error.value)


def test_secrets_are_in_no_repr(home):
    assert "geheim" not in repr(find_credentials({"HOME": str(home), "KAGGLE_API_TOKEN": "geheim"}))


IMPORTING = """
import importlib, pkgutil, sys

def no_questions(event, arguments):
    if event in ("open", "os.mkdir", "socket.connect", "builtins.input"):
        writes = event != "open" or (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"))
        if writes and arguments[:1] != ("/dev/null",):
            sys.exit(f"importing did {event} {arguments}")

sys.addaudithook(no_questions)
import mlebench, mlebench.preparation.kaggle as package
for module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"{package.__name__}.{module.name}")
from mlebench.preparation.sources import find_source
find_source("kaggle")
"""


def test_importing_asks_for_nothing_and_makes_no_files(tmp_path):
    """Unlike other clients: an account is looked for when it is needed, not before."""
    for name in ("user", "here"):
        (tmp_path / name).mkdir(mode=0o500)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", IMPORTING]
    result = subprocess.run(
        command,
        cwd=tmp_path / "here",
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert (result.stdout, result.stderr) == ("", "")
    assert [*(tmp_path / "user").iterdir(), *(tmp_path / "here").iterdir()] == []
