"""Every back-end that this machine has must pass the suite that ships with the package."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

import mlebench
from mlebench.errors import UsageError
from mlebench.sandbox import SANDBOXES, Limits, Outcome, find_sandbox
from mlebench.sandbox.checks import SANDBOX_CHECKS, CheckFailed, exceptions, exit_codes_become_ends, make_world
from mlebench.sandbox.unsandboxed import Unsandboxed

SYSTEM_PYTHON = "/usr/bin/python3"
NOBODY = 65534


@pytest.mark.parametrize("check", SANDBOX_CHECKS, ids=attrgetter("__name__"))
@pytest.mark.parametrize("name", SANDBOXES)
def test_sandbox(name, check, usable, tmp_path):
    sandbox = usable(name)
    if reason := exceptions(sandbox).get(check.__name__):
        pytest.skip(f"can't hold: {reason}")
    check(sandbox, tmp_path)


# What depends on the system that is seen; limits don't.
OF_THE_WORLD = SANDBOX_CHECKS[: SANDBOX_CHECKS.index(exit_codes_become_ends) + 1]


@pytest.mark.parametrize("check", OF_THE_WORLD, ids=attrgetter("__name__"))
def test_on_an_image(check, usable, tmp_path):
    check(usable("docker on an image"), tmp_path)


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_the_strict_sandboxes_have_no_exceptions(name):
    assert not exceptions(find_sandbox(name))


@pytest.mark.parametrize("name", ["none", "docker:runsc"])
def test_exceptions_name_checks(name):
    names = set(exceptions(find_sandbox(name)))
    assert names
    assert names <= {check.__name__ for check in SANDBOX_CHECKS}


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp"])
@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_an_environment_that_lies_in_a_temporary_folder(name, place, usable, tmp_path):
    sandbox = usable(name)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        Path(folder).chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/env"], check=True)
        world = replace(make_world(tmp_path / "world"), python=Path(folder, "env"))
        command = ["python", "-c", "import sys; print(sys.prefix)"]
        outcome = sandbox.run(world, command, Limits(30), tmp_path / "output.txt")
        assert (outcome.end, (tmp_path / "output.txt").read_text()) == ("completed", f"{folder}/env\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="not root, so test_sandbox is the rootless case")
def test_bubblewrap_without_root(usable):
    """The same checks, run by a user who owns nothing, with the system's Python and no package of ours installed."""
    usable("bubblewrap")
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip(f"no {SYSTEM_PYTHON} that another user may run")
    folder = Path("/tmp") / f"mlebench-rootless-{os.getpid()}"
    package = folder / "mlebench"
    try:
        package.mkdir(parents=True)
        source = Path(mlebench.__file__).parent
        for name in ("__init__.py", "errors.py"):
            shutil.copy(source / name, package / name)
        shutil.copytree(source / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
        result = subprocess.run(
            [SYSTEM_PYTHON, "-B", "-m", "mlebench.sandbox.checks", "bubblewrap"],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "HOME": str(folder), "LANG": "C.UTF-8"},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("passed") == len(SANDBOX_CHECKS)


class _Broken:
    """Pretends that everything went well."""

    name = "broken"

    def unavailable(self):
        return None

    def run(self, world, command, limits, output, observer=None):  # noqa: ARG002
        output.write_text("{}\n")
        return Outcome("completed", 0, 0.1, 0, 0)


# What these find, an agent must do; one that does nothing passes them.
SEEN_WITHOUT_A_SANDBOX = ("data_and_agent_are_read_only",)
FAILS_ON_SILENCE = [check for check in SANDBOX_CHECKS if check.__name__ not in SEEN_WITHOUT_A_SANDBOX]
# Without a sandbox, the search for files would walk the whole disk; test_hostile_agent.py shows a smaller one.
TOO_WIDE = ("host_files_and_labels_are_out_of_sight",)
FAILS_ON_NONE = [
    check for check in SANDBOX_CHECKS if check.__name__ in Unsandboxed.exceptions and check.__name__ not in TOO_WIDE
]


@pytest.mark.parametrize("check", FAILS_ON_SILENCE, ids=attrgetter("__name__"))
def test_a_check_fails_if_nothing_is_done(check, tmp_path):
    with pytest.raises((CheckFailed, KeyError)):
        check(_Broken(), tmp_path)


@pytest.mark.parametrize("check", FAILS_ON_NONE, ids=attrgetter("__name__"))
def test_a_check_sees_what_none_allows(check, tmp_path):
    with pytest.raises(CheckFailed):
        check(Unsandboxed(), tmp_path)


def test_a_name_that_is_none():
    with pytest.raises(UsageError, match="there are bubblewrap, docker"):
        find_sandbox("chroot")


def test_a_variant_of_a_sandbox_that_has_none():
    with pytest.raises(UsageError, match="bubblewrap has no variants"):
        find_sandbox("bubblewrap:strict")


def test_a_sandbox_that_is_missing_says_what_to_do(monkeypatch, tmp_path):
    code = "from mlebench.sandbox.bubblewrap import Bubblewrap; print(Bubblewrap().unavailable())"
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert "apt-get install bubblewrap" in result.stdout


def test_a_bwrap_that_is_too_old_or_forbidden_says_what_to_do(tmp_path):
    code = "from mlebench.sandbox.bubblewrap import Bubblewrap; print(Bubblewrap().unavailable())"
    for script, expected in (
        ("echo --args", "0.8 or later"),
        ("[ $1 = --help ] && echo '--args --disable-userns --size --perms --info-fd' || exit 1", "namespaces"),
    ):
        program = tmp_path / "bwrap"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert expected in result.stdout


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_many_open_connections_do_not_stop_the_relay(name, usable, tmp_path):
    from mlebench.sandbox.checks import http_server, run_probe

    code = """
import json, os, socket, urllib.request
idle = [socket.create_connection(("localhost", 5000)) for _ in range(100)]
for client in idle[:50]: client.send(b"\\0" * 1000)
with urllib.request.urlopen("http://localhost:5000/still-there") as answer:
    print(json.dumps(answer.read().decode()))
"""
    with http_server() as path:
        found = run_probe(usable(name), tmp_path, code, sockets={5000: path})
    assert found == "you asked for /still-there"


@pytest.mark.parametrize("name", SANDBOXES)
def test_processors_are_chosen(name, usable, tmp_path):
    from mlebench.sandbox.checks import run_code

    one = min(os.sched_getaffinity(0))
    ran = run_code(usable(name), tmp_path / "x", "import os; print(os.sched_getaffinity(0))", Limits(20, cpus=[one]))
    assert ran.output == f"{{{one}}}\n"
