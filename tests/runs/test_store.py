"""Reading what a run left on disk: whole, broken, from another version, misplaced."""

import json
import subprocess
import sys

import pytest

from mlebench.errors import MlebenchError, UsageError
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, read_config, write_config

CONFIG = RunConfig(
    id="r",
    created="2026-01-02T03:04:05+00:00",
    agent="baseline",
    competitions=["a", "b"],
    seeds=2,
    time_limit_seconds=90.5,
    sandbox="none",
    executor="local",
    workers=1,
    data_dir="/data",
    agent_parameters={"depth": "4"},
    competition_folders=["/mine"],
    memory_bytes=8 << 30,
    processes=64,
    disk_bytes=1 << 30,
    sources={"a": "local"},
    network="open",
    model="m",
    hardware={"cpus": 8, "gpus": []},
    versions={"python": "3.11"},
    command=["mlebench", "run"],
)
STATE = AttemptState("a", 1, "finished", "timeout", "too slow", 9, "then", "later", 12.5, 3, 4, 1, 6, 5)


def change(path, **facts):
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


@pytest.fixture
def run(tmp_path):
    write_config(tmp_path / "r", CONFIG)
    AttemptFolder(tmp_path / "r", "a", 1).write_state(STATE)
    return tmp_path / "r"


def test_what_is_written_is_read(run):
    assert read_config(run) == CONFIG
    assert AttemptFolder(run, "a", 1).state() == STATE


def test_an_attempt_without_a_file_is_pending(run):
    assert AttemptFolder(run, "b", 0).state() == AttemptState("b", 0, "pending")


def test_what_is_no_run_is_the_persons_mistake(tmp_path):
    with pytest.raises(UsageError, match="is no run: it has no run"):
        read_config(tmp_path)


def test_unknown_keys_are_ignored_and_null_is_the_default(run):
    change(run / "run.json", of_a_later_version=1, id=None, edition=None, hardware=None, network=None)
    change(run / "a/1/attempt.json", of_a_later_version=1, seed=None, message=None, reruns=None, seconds=None)
    config, state = read_config(run), AttemptFolder(run, "a", 1).state()
    assert (config.id, config.edition, config.hardware, config.network) == ("r", "v1", {}, None)
    assert (state.seed, state.message, state.reruns, state.seconds, state.end) == (1, "", 0, None, "timeout")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00", '{"state": "finished"', b"\xff"])
def test_a_broken_file_is_named(run, content):
    for path in (run / "run.json", run / "a/1/attempt.json"):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MlebenchError, match=r"run\.json can't be read: ."):
        read_config(run)
    with pytest.raises(MlebenchError, match=r"a/1/attempt\.json can't be read: ."):
        AttemptFolder(run, "a", 1).state()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seeds", "many"),
        ("workers", float("inf")),
        ("time_limit_seconds", []),
        ("agent", 5),
        ("competitions", "a"),
        ("command", [1]),
        ("sources", ["a"]),
        ("versions", {"python": 3}),
        ("hardware", "a lot"),
    ],
)
def test_a_value_of_a_wrong_type_is_named(run, key, value):
    change(run / "run.json", **{key: value})
    with pytest.raises(MlebenchError, match=f"run.json can't be read: {key} is .*, not of type "):
        read_config(run)


@pytest.mark.parametrize("key", ["created", "agent", "competitions", "seeds", "data_dir"])
def test_a_missing_key_is_named(run, key):
    change(run / "run.json", **{key: None})
    with pytest.raises(MlebenchError, match=f"run.json can't be read: the key '{key}' is missing"):
        read_config(run)


@pytest.mark.parametrize("facts", [{"seed": 2}, {"competition": "b"}])
def test_a_file_that_speaks_of_another_attempt_is_refused(run, facts):
    change(run / "a/1/attempt.json", **facts)
    with pytest.raises(MlebenchError, match=r"attempt.json can't be read: it speaks of seed . of ., and lies where"):
        AttemptFolder(run, "a", 1).state()


def test_the_store_is_light():
    program = "import sys, mlebench.runs.store; sys.exit('pandas' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
