"""Apptainer: its command line, what it says where it is missing, and the shared checks with what stands in for it."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import mlebench
from mlebench.errors import SandboxError
from mlebench.sandbox import Limits
from mlebench.sandbox.apptainer import (
    _environment_for_apptainer,
    _fill_scratch,
    _make_root,
    all_places,
    environment_script,
    inside_command,
    options,
)
from mlebench.sandbox.checks import SANDBOX_CHECKS, make_world
from mlebench.sandbox.places import Place

STAND_IN = Path(__file__).with_name("stand_in_for_apptainer.py")
SYSTEM_PYTHON = "/usr/bin/python3"
NOBODY = 65534


@pytest.fixture
def world(tmp_path):
    (tmp_path / "socket").touch()
    return replace(make_world(tmp_path / "world"), sockets={5000: tmp_path / "socket"})


def places_of(world, folder):
    (folder / "scratch").mkdir()
    _fill_scratch(folder / "scratch", world)
    return all_places(world, folder / "scratch")


def test_it_is_contained_and_has_no_network(world, tmp_path):
    found = options(places_of(world, tmp_path), Limits(10))
    assert found[0] == "exec"
    assert {"--containall", "--cleanenv", "--no-home", "--net"} <= set(found)
    assert found[found.index("--network") + 1] == "none"
    assert found[found.index("--pwd") + 1] == "/home/code"
    assert found[found.index("--no-mount") + 1] == "bind-paths,hostfs"
    assert not {"--nv", "--writable", "--fakeroot", "--privileged"} & set(found)
    assert "--nv" in options([], Limits(10, gpus=[0]))


def test_only_what_may_be_written_can_be(world, tmp_path):
    places = places_of(world, tmp_path)
    writable = {place.inside for place in places if place.writable}
    kept = {f"/home/{name}" for name in ("submission", "code", "logs")}
    assert writable == {"/tmp", "/var/tmp", "/run/mlebench/words", *kept}
    found = options(places, Limits(10))
    binds = [found[at + 1] for at, word in enumerate(found) if word == "--bind"]
    assert len(binds) == len(places)
    assert all(bind.endswith(":rw") == (bind.split(":")[1] in writable) for bind in binds)
    assert not any("private" in bind for bind in binds)


def test_outer_places_come_before_those_within(world, tmp_path):
    seen = []
    for place in places_of(replace(world, home_files={"data/train.csv": world.agent / "main.py"}), tmp_path):
        assert not any(Path(other).is_relative_to(place.inside) for other in seen), place
        seen.append(place.inside)


def test_a_path_that_it_would_misread_is_refused():
    with pytest.raises(SandboxError, match="no path with a colon"):
        options([Place(Path("/data:1"), "/home/data")], Limits(10))


def test_a_missing_folder_is_refused(world, tmp_path):
    with pytest.raises(SandboxError, match="there is no"):
        places_of(replace(world, notices=tmp_path / "missing"), tmp_path)


def test_the_command_inside(world):
    limits = Limits(10, memory_bytes=1 << 30, disk_bytes=1 << 20, cpus=[1])
    command = inside_command(world, ["agent", "x y"], limits)
    assert command[:2] == ["/bin/sh", "-c"]
    assert command[-2:] == ["agent", "x y"]
    assert "/run/mlebench/5000.sock" in command[-3]
    assert '"cpus": [1]' in command[-3]
    of_an_image = inside_command(replace(world, image="x.sif"), ["agent"], limits)
    assert of_an_image[4] == "python3"


def test_an_image_keeps_its_own_system(world, tmp_path):
    inside = {place.inside for place in places_of(replace(world, image="x.sif", python=None), tmp_path)}
    assert "/usr" not in inside
    assert "/home/data" in inside


def test_the_environment_survives_the_shell(world, tmp_path):
    """Whatever is in it; and secrets are in a file, not on a command line."""
    values = {"A": 'it\'s $HOME `id` \\ "x"', "B": "two\nlines", "PROVIDER_KEY": "token"}
    world = replace(world, environment=values)
    script = tmp_path / "environment"
    script.write_text(environment_script(world))
    printed = subprocess.run(
        ["/bin/sh", "-c", f'. {shlex.quote(str(script))}; printf "%s|" "$A" "$B" "$PROVIDER_KEY" "$HOME" "$DATA_DIR"'],
        env={},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.split("|")[:-1] == [*values.values(), "/tmp/home", "/home/data"]
    assert "token" not in str([options(places_of(world, tmp_path), Limits(1)), inside_command(world, ["x"], Limits(1))])


def test_an_images_path_is_kept(world, tmp_path):
    script = tmp_path / "environment"
    script.write_text(environment_script(replace(world, image="x.sif", python=None, software=[Path("/opt/node")])))
    command = ["/bin/sh", "-c", f'. {shlex.quote(str(script))}; echo "$PATH"']
    found = subprocess.run(command, env={"PATH": "/image/bin"}, capture_output=True, text=True, check=True).stdout
    assert found == "/opt/node/bin:/image/bin\n"


def test_the_root_has_a_place_for_everything(world, tmp_path):
    places = places_of(world, tmp_path)
    root = _make_root(tmp_path / "root", Path("/"), places)
    for place in places:
        inner = root / place.inside.lstrip("/")
        if not place.inside.startswith("/home/"):
            assert inner.is_dir() == place.source.is_dir(), place
    assert not any(path.stat().st_size for path in (root / "run").rglob("*") if path.is_file())


def test_the_callers_variables_stay_out():
    """For the agent can read those of Apptainer itself."""
    theirs = {"APPTAINER_BIND": "/", "SINGULARITY_BINDPATH": "/", "APPTAINERENV_TOKEN": "x", "OPENAI_API_KEY": "x"}
    ours = {"APPTAINER_CACHEDIR": "/c", "PATH": "/bin"}
    assert _environment_for_apptainer({**theirs, **ours}) == ours


def test_where_it_is_missing_it_says_how_to_get_it(tmp_path):
    code = "from mlebench.sandbox.apptainer import Apptainer; print(Apptainer().unavailable())"
    environment = {"PATH": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "conda install -c conda-forge apptainer" in result.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="not root, so nobody else can be asked")
def test_root_is_refused(tmp_path):
    shutil.copy(STAND_IN, tmp_path / "apptainer")
    (tmp_path / "apptainer").chmod(0o755)
    code = "from mlebench.sandbox.apptainer import Apptainer; print(Apptainer().unavailable())"
    environment = {"PATH": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "as another user" in result.stdout


@pytest.fixture
def as_nobody():
    """Run our modules as a user without rights, `apptainer` being the given program."""
    if os.geteuid() != 0 or not shutil.which("bwrap") or not Path(SYSTEM_PYTHON).exists():
        pytest.skip("needs root, to become somebody else, and bubblewrap")
    folder = Path("/tmp") / f"mlebench-apptainer-{os.getpid()}"
    package = folder / "mlebench"
    package.mkdir(parents=True)
    source = Path(mlebench.__file__).parent
    for name in ("__init__.py", "errors.py"):
        shutil.copy(source / name, package / name)
    shutil.copytree(source / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))

    def run(program, *arguments):
        (folder / "bin").mkdir(exist_ok=True)
        shutil.copy(program, folder / "bin" / "apptainer")
        (folder / "bin" / "apptainer").chmod(0o755)
        environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "PYTHONPATH": str(folder), "HOME": str(folder)}
        return subprocess.run(
            [SYSTEM_PYTHON, "-B", *arguments],
            cwd=folder,
            env={**environment, "LANG": "C.UTF-8"},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    shutil.rmtree(folder)


def test_the_checks_with_a_stand_in(as_nobody):
    """All checks, in what stands in for Apptainer: so far our part of the work is shown."""
    result = as_nobody(STAND_IN, "-m", "mlebench.sandbox.checks", "apptainer")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("passed") == len(SANDBOX_CHECKS)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo network none is not allowed >&2; exit 255", "network none is not allowed"),
        ('echo \'["lo", "eth0"]\'', "leaves the network open (eth0)"),
    ],
)
def test_an_installation_that_can_not_close_the_network_is_refused(script, says, as_nobody, tmp_path):
    (tmp_path / "apptainer").write_text(f"#!/bin/sh\n{script}\n")
    code = "from mlebench.sandbox.apptainer import Apptainer; print(Apptainer().unavailable())"
    assert says in as_nobody(tmp_path / "apptainer", "-c", code).stdout
