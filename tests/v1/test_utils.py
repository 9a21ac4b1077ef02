import logging
import re
import sys
import zipfile

import pytest

from mlebench import utils
from mlebench.errors import MlebenchError, PreparationError


def test_floats_are_read_exactly(tmp_path):
    (tmp_path / "a.csv").write_text("x\n0.3066101993807095471566981359501369297504425048828125\n3.0e-5\n")
    assert utils.read_csv(tmp_path / "a.csv")["x"].tolist() == [0.30661019938070955, 3e-5]
    assert utils.read_csv(tmp_path / "a.csv", dtype=str, nrows=1)["x"].tolist()[0].startswith("0.30661019938070954715")


def test_an_empty_file_gives_an_empty_frame(tmp_path):
    (tmp_path / "a.csv").write_text("")
    assert utils.read_csv(tmp_path / "a.csv").empty


def test_jsonl_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('# no\n{"a": 1}\n\n  \n// no\n{"a": null}')
    assert utils.read_jsonl(path) == utils.read_jsonl(str(path)) == [{"a": 1}, {"a": None}]
    with pytest.raises(MlebenchError, match="line 1"):
        utils.read_jsonl(path, skip_commented_out_lines=False)


def test_answers_are_tables_or_lists(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    assert utils.load_answers(tmp_path / "a.csv")["x"].tolist() == [1]
    assert utils.load_answers(tmp_path / "a.jsonl") == [{"x": 1}]
    with pytest.raises(ValueError, match=r"a\.txt"):
        utils.load_answers(tmp_path / "a.txt")


def test_loggers_change_nothing():
    before = logging.root.level, list(logging.root.handlers)
    logger = utils.get_logger("mlebench.some.name", logging.DEBUG)
    assert logger is logging.getLogger("mlebench.some.name")
    assert (logger.level, logger.handlers) == (logging.NOTSET, [])
    assert (logging.root.level, list(logging.root.handlers)) == before


def test_the_form_of_timestamps():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(GMT|UTC)", utils.get_timestamp())


def test_purple_holds_the_text():
    assert "some text" in utils.purple("some text")
    assert utils.purple("x").startswith("\033[")


def test_compressing_and_extracting_are_inverse(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_text("c")
    (tmp_path / "a" / "d.txt").write_text("d")
    utils.compress(tmp_path / "a", tmp_path / "a.zip")
    utils.extract(tmp_path / "a.zip", tmp_path / "out")
    found = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.txt")}
    assert found == {"b/c.txt", "d.txt"}
    with pytest.raises(FileExistsError):
        utils.compress(tmp_path / "a", tmp_path / "a.zip")
    utils.compress(tmp_path / "a" / "d.txt", tmp_path / "a.zip", exist_ok=True)
    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == ["d.txt"]
    with pytest.raises(FileNotFoundError):
        utils.compress(tmp_path / "none", tmp_path / "b.zip")


@pytest.mark.parametrize("recursive", [False, True])
def test_archives_in_archives(recursive, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.txt").write_text("x")
    utils.compress(tmp_path / "in", tmp_path / "inner.zip")
    (tmp_path / "mid").mkdir()
    (tmp_path / "inner.zip").rename(tmp_path / "mid" / "inner.zip")
    utils.compress(tmp_path / "mid", tmp_path / "outer.zip")
    utils.extract(tmp_path / "outer.zip", tmp_path / "out", recursive)
    assert (tmp_path / "out" / "inner.zip").is_file()
    assert (tmp_path / "out" / "inner" / "x.txt").is_file() is recursive


def test_a_hostile_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../evil.txt", "x")
    with pytest.raises(PreparationError):
        utils.extract(tmp_path / "a.zip", tmp_path / "out")
    assert not (tmp_path / "evil.txt").exists()


def test_is_empty(tmp_path):
    assert utils.is_empty(tmp_path)
    assert utils.is_empty(tmp_path / "missing")
    (tmp_path / "a").write_text("")
    assert not utils.is_empty(tmp_path)


def test_load_yaml(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [1, 2]\n")
    assert utils.load_yaml(tmp_path / "a.yaml") == {"a": [1, 2]}


def test_import_fn():
    import os.path

    assert utils.import_fn("os.path:join") is os.path.join
    for wrong in ("os.path", ":join", "os.path:"):
        with pytest.raises(ValueError, match="module:function"):
            utils.import_fn(wrong)


def test_get_diff():
    assert utils.get_diff({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ""
    lines = utils.get_diff({"a": 1}, {"a": 2}, fromfile="old", tofile="new").splitlines()
    assert lines[:2] == ["--- old", "+++ new"]
    assert '-  "a": 1' in lines
    assert '+  "a": 2' in lines


def test_in_ci(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert utils.in_ci() is False
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert utils.in_ci() is True


def test_kaggle_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "kaggle", None)
    with pytest.raises(MlebenchError, match="pip install kaggle"):
        utils.authenticate_kaggle_api()


@pytest.mark.parametrize(("on_import", "message"), [("", "no credentials"), ("exit(1)", "no credentials")])
def test_a_client_that_exits_is_an_error(on_import, message, monkeypatch, tmp_path):
    """The client ends the process where it finds no credentials, some versions already when it is imported."""
    package = tmp_path / "kaggle" / "api"
    package.mkdir(parents=True)
    (tmp_path / "kaggle" / "__init__.py").write_text(on_import)
    (package / "__init__.py").write_text("")
    (package / "kaggle_api_extended.py").write_text("class KaggleApi:\n    def authenticate(self):\n        exit(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "kaggle"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        with pytest.raises(MlebenchError, match=message):
            utils.authenticate_kaggle_api()
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "kaggle"]:
            del sys.modules[name]


def test_run_directories(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert utils.get_runs_dir() == tmp_path / "runs"
    assert not (tmp_path / "runs").exists()
    folder = utils.create_run_dir("spaceship-titanic", "dummy", "group")
    assert folder.is_dir()
    assert folder.parent == tmp_path / "runs" / "group"
    assert re.fullmatch(r"spaceship-titanic_[0-9a-f-]{36}", folder.name)
    assert utils.create_run_dir(agent_id="dummy").name.endswith("run-group_dummy")
    assert utils.generate_run_id("a") != utils.generate_run_id("a")


def test_where_the_package_lies():
    import mlebench

    assert str(utils.get_module_dir() / "__init__.py") == mlebench.__file__
    assert utils.get_module_dir().is_relative_to(utils.get_repo_dir())
