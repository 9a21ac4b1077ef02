"""Environments as folders: what decides them, how they are built, what an agent sees of them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mlebench.environments import Environment, Software, build, find
from mlebench.environments.folders import Plan, packages_with_scripts, plan, remove
from mlebench.environments.pythons import find_interpreter, find_node, find_uv
from mlebench.environments.roots import Root
from mlebench.environments.steps import BuildError, Steps
from mlebench.environments.venv import share
from mlebench.errors import UsageError
from mlebench.sandbox import Limits, World, find_sandbox


def quiet(_):
    """Says nothing."""


def python_says(environment: Environment, code: str) -> str:
    assert environment.python is not None
    command = [environment.python / "bin" / "python", "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# --- what decides an environment


def test_equal_content_has_one_environment_wherever_it_lies(software):
    assert plan(software("tiny==1.0\n", name="a")).folder == plan(software("tiny==1.0\n", name="b")).folder


def test_each_thing_that_decides_it_changes_the_digest(software, npm_agent):
    npm = Software.parse({"npm": "package-lock.json"}, npm_agent)
    host = plan(software("tiny==1.0\n", name="a"))
    assert host.interpreter is not None
    with_npm = plan(npm)
    assert with_npm.node is not None
    edited = npm_agent.with_name("edited")
    shutil.copytree(npm_agent, edited)
    own = edited / "package.json"
    own.write_text(own.read_text().replace('"npm-agent"', '"edited"'))
    plans = [
        host,
        plan(software("tiny==2.0\n", name="b")),
        plan(software()),
        plan(software("tiny==1.0\n", base="light")),
        plan(software("tiny==1.0\n", base="standard")),
        plan(software("tiny==1.0\n", no_deps=["other==0.5"])),
        replace(host, interpreter=replace(host.interpreter, version="3.11.99")),
        replace(host, interpreter=replace(host.interpreter, implementation="pypy")),
        replace(host, interpreter=replace(host.interpreter, platform="linux-aarch64")),
        replace(host, interpreter=replace(host.interpreter, prefix="/opt/python")),
        replace(host, interpreter=None, root=Root("trixie")),
        replace(host, interpreter=None, root=Root("sid")),
        replace(host, interpreter=None, root=Root("trixie", ("git",))),
        with_npm,
        plan(Software.parse({"npm": "package-lock.json"}, edited)),
        replace(with_npm, node=replace(with_npm.node, version="v99.0.0")),
    ]
    assert len({planned.digest for planned in plans}) == len(plans)


def test_what_decides_nothing_does_not_change_the_digest(software):
    required = software("tiny==1.0\n")
    assert plan(replace(required, agent="another", python=">=3.11")).digest == plan(required).digest


def test_without_software_it_is_the_python_that_runs_this():
    found = find(None, "bubblewrap")
    assert found == build(None, "none") == find(None, "docker")
    assert found.python == Path(sys.prefix)
    assert found.image is found.root is None
    assert len(found.digest) == 16


def test_no_python_that_suits(software):
    with pytest.raises(UsageError, match=r"needs Python >=3\.99, and neither PATH nor uv has one"):
        plan(software(python=">=3.99"))


def test_a_root_takes_the_place_of_a_python_that_the_host_lacks(software):
    planned = plan(software(python=">=3.99", root="trixie", root_packages=["git"]))
    assert planned.root == Root("trixie", ("git",))
    assert planned.environment.root == planned.root.tree
    assert plan(software(root="trixie")).root is None


def test_a_stand_in_that_does_not_run_is_passed_over(tmp_path, monkeypatch):
    for name in ("python3.13", "python3"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'no version is chosen' >&2\nexit 127\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MLEBENCH_UV", "")
    assert find_interpreter(">=3.99") is None
    found = find_interpreter("")
    assert found is not None
    assert found.version == ".".join(map(str, sys.version_info[:3]))


# --- building


@pytest.fixture(params=["pip", "uv"])
def installer(request, monkeypatch):
    """Build with one, then with the other."""
    if request.param == "uv" and find_uv() is None:
        pytest.skip("uv is not installed")
    if request.param == "pip":
        monkeypatch.setenv("MLEBENCH_UV", "")
    return request.param


def test_build_and_find(software, installer):
    wanted = software("tiny==1.0\n", no_deps=["other==0.5"])
    with pytest.raises(UsageError, match=f'is not built: "mlebench agents build {wanted.agent}" does it'):
        find(wanted, "bubblewrap")
    said = []
    built = build(wanted, "bubblewrap", say=said.append)
    assert find(wanted, "bubblewrap") == find(wanted, "none") == find(wanted, "docker") == built
    assert python_says(built, "import tiny, other; print(tiny.VERSION, other.VERSION)") == "1.0 0.5"
    assert built.python is not None
    run = subprocess.run([built.python / "bin" / "tiny"], capture_output=True, text=True, check=True)
    assert run.stdout == "tiny speaks\n"
    assert "installing requirements.lock" in said
    manifest = json.loads((built.python.parent / "manifest.json").read_text())
    assert {"tiny==1.0", "other==0.5"} <= set(manifest["packages"])
    assert manifest["wish"] == plan(wanted).wish

    assert build(wanted, "bubblewrap", say=said.append) == built
    assert said[-1] == f"{built.python.parent} is there already"


def test_all_may_read_it_and_nobody_may_change_it(software):
    before = os.umask(0o077)
    try:
        built = build(software("tiny==1.0\n"), "bubblewrap", say=quiet)
    finally:
        os.umask(before)
    assert built.python is not None
    entries = [built.python, *built.python.rglob("*")]
    modes = {path: path.lstat().st_mode for path in entries if not path.is_symlink()}
    assert not [path for path, mode in modes.items() if mode & 0o222]
    assert not [path for path, mode in modes.items() if mode & 0o444 != 0o444]
    assert not [path for path, mode in modes.items() if path.is_dir() and mode & 0o555 != 0o555]
    assert [path for path in modes if path.match("__pycache__/tiny.*.pyc")]
    assert built.python.parent.stat().st_mode & 0o755 == 0o755


def test_a_build_that_fails_leaves_nothing_that_seems_whole(software, add_wheel):
    wanted = software("late==1.0\n")
    with pytest.raises(BuildError, match=r"installing requirements\.lock: failed[\s\S]*late"):
        build(wanted, "bubblewrap", say=quiet)
    with pytest.raises(UsageError, match="is not built"):
        find(wanted, "bubblewrap")
    add_wheel("late", "1.0")
    assert python_says(build(wanted, "bubblewrap", say=quiet), "import late; print(late.VERSION)") == "1.0"


def test_what_was_left_half_built_is_built_anew(software):
    wanted = software("tiny==1.0\n")
    built = build(wanted, "bubblewrap", say=quiet)
    assert built.python is not None
    folder = built.python.parent
    (folder / "manifest.json").unlink()
    folder.joinpath("python").chmod(0o755)
    shutil.rmtree(folder / "python" / "bin", ignore_errors=True) if os.geteuid() == 0 else None
    (folder / "python" / "rubbish").write_text("x")
    assert build(wanted, "bubblewrap", say=quiet) == built
    assert not (folder / "python" / "rubbish").exists()
    assert python_says(built, "import tiny; print(tiny.VERSION)") == "1.0"


def test_force_builds_it_anew(software):
    wanted = software("tiny==1.0\n")
    built = build(wanted, "bubblewrap", say=quiet)
    assert built.python is not None
    built.python.chmod(0o755)
    (built.python / "rubbish").write_text("x")
    build(wanted, "bubblewrap", say=quiet)
    assert (built.python / "rubbish").exists()
    build(wanted, "bubblewrap", say=quiet, force=True)
    assert not (built.python / "rubbish").exists()


def test_two_at_once_build_it_once(software):
    wanted = software("tiny==1.0\n")
    code = (
        "import sys; from pathlib import Path; from mlebench.environments import *\n"
        "software = Software.parse({'requirements': 'requirements.lock'}, Path(sys.argv[1]))\n"
        "print(build(software, 'bubblewrap').python)"
    )
    command = [sys.executable, "-c", code, wanted.agent]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert "".join(outputs).count("making a virtual environment") == 1
    assert len({output.splitlines()[-1] for output in outputs}) == 1


def test_requirements_that_are_not_pinned_are_refused(software):
    wanted = software("tiny\n")
    with pytest.raises(UsageError, match='"tiny" names no exact version'):
        build(wanted, "bubblewrap", say=quiet)
    with pytest.raises(UsageError, match='"tiny" names no exact version'):
        find(wanted, "bubblewrap")


def test_hashes_are_kept_to(software, add_wheel):
    digest = hashlib.sha256(add_wheel("hashed", "1.0").read_bytes()).hexdigest()
    right = software(f"hashed==1.0 --hash=sha256:{digest}\n")
    assert python_says(build(right, "bubblewrap", say=quiet), "import hashed; print(hashed.VERSION)") == "1.0"
    wrong = software(f"hashed==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(BuildError, match=r"(?i)hash"):
        build(wrong, "bubblewrap", say=quiet)


def test_steps_hide_keys_of_models_and_show_the_end_of_what_failed(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("COLOUR", "blue")
    said = []
    steps = Steps(tmp_path / "log", said.append)
    lines = steps.run("looking", ["env"]).splitlines()
    assert "COLOUR=blue" in lines
    assert not [line for line in lines if line.startswith(("OPENAI_API_KEY", "PIP_TARGET"))]
    with pytest.raises(BuildError, match=r"counting: failed with exit code 3 \(all of it: .*log\)\n6\n[\s\S]*20$"):
        steps.run("counting", ["sh", "-c", "seq 20; exit 3"])
    with pytest.raises(BuildError, match="can't be started: No such file"):
        steps.run("trying", ["/no/such/program"])
    assert said == ["looking", "counting", "trying"]


# --- environments that share files


def test_a_shared_environment_has_the_same_files_but_its_own_programs(software, tmp_path):
    base = build(software("tiny==1.0\nother==0.5\n"), "bubblewrap", say=quiet).python
    assert base is not None
    (linked := tmp_path / "linked").mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", linked / "python"], check=True)
    share(base, linked / "python")
    ours, theirs = (next(prefix.glob("lib/*/site-packages/tiny.py")) for prefix in (linked / "python", base))
    assert ours.samefile(theirs)
    ran = subprocess.run([linked / "python" / "bin" / "tiny"], capture_output=True, text=True, check=True)
    assert ran.stdout == "tiny speaks\n"
    assert str(base) not in (linked / "python" / "bin" / "tiny").read_text()
    where = subprocess.run(
        [linked / "python" / "bin" / "python", "-c", "import tiny; print(tiny.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.strip() == str(ours)

    remove(linked)
    assert not linked.exists()
    assert theirs.stat().st_mode & 0o222 == 0


def test_agents_on_a_base_share_that_of_the_base(software):
    planned = plan(software("tiny==1.0\n", base="light", no_deps=["other==0.5"]))
    assert planned.base is not None
    assert planned.base.digest == plan(Software(base="light")).digest != planned.digest
    assert planned.base.base is None
    assert plan(software("tiny==1.0\n")).base is None


@pytest.mark.slow
def test_an_agent_on_the_base_light(tmp_path, monkeypatch, installer):
    """With the true index of packages."""
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "requirements.lock").write_text("six==1.17.0\nnumpy==1.26.4\n")
    clashing = Software.parse({"base": "light", "requirements": "requirements.lock"}, tmp_path / "agent")
    with pytest.raises(BuildError, match="numpy"):
        build(clashing, "bubblewrap", say=quiet)
    (tmp_path / "agent" / "requirements.lock").write_text("six==1.17.0\n")
    built = build(clashing, "bubblewrap", say=quiet)
    shown = python_says(built, "import six, sklearn, lightgbm; print(sklearn.__file__)")
    base = build(Software(base="light"), "bubblewrap", say=quiet)
    assert built.python is not None
    assert base.python is not None
    assert Path(shown).is_relative_to(built.python)
    assert Path(shown).samefile(base.python / Path(shown).relative_to(built.python))


# --- Node.js


needs_node = pytest.mark.skipif(find_node() is None, reason="Node.js is not installed")


@needs_node
def test_npm(software, npm_agent, wheels):
    built = build(Software.parse({"npm": "package-lock.json"}, npm_agent), "bubblewrap", say=quiet)
    node = built.software[0]
    for name in ("near", "far"):
        ran = subprocess.run([node / "bin" / name], capture_output=True, text=True, check=True)
        assert ran.stdout == f"{name} 1.0.0 runs\n"
    assert not [path for path in node.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o222]


@needs_node
def test_install_scripts_run_only_for_packages_that_the_agent_names(npm_agent, wheels):
    assert packages_with_scripts(npm_agent / "package-lock.json") == ["near"]
    built = build(Software.parse({"npm": "package-lock.json"}, npm_agent), "bubblewrap", say=quiet)
    modules = built.software[0] / "node_modules"
    assert (modules / "near" / "installed.txt").exists()
    assert not (modules / "far" / "installed.txt").exists()


@needs_node
def test_a_package_that_was_tampered_with_is_refused(npm_agent, wheels):
    lock = npm_agent / "package-lock.json"
    facts = json.loads(lock.read_text())
    facts["packages"]["node_modules/far"]["integrity"] = facts["packages"]["node_modules/near"]["integrity"]
    lock.write_text(json.dumps(facts))
    with pytest.raises(BuildError, match="EINTEGRITY"):
        build(Software.parse({"npm": "package-lock.json"}, npm_agent), "bubblewrap", say=quiet)


@needs_node
def test_a_node_outside_usr_must_stand_inside_as_well(software, npm_agent):
    planned = plan(software())
    node = find_node()
    assert node is not None
    wanted = replace(planned.software, npm=npm_agent / "package-lock.json")
    outside = Plan(wanted, planned.interpreter, None, replace(node, executable="/opt/node/bin/node"))
    within = Plan(wanted, planned.interpreter, None, replace(node, executable="/usr/bin/node"))
    assert outside.environment.software == (outside.folder / "node", Path("/opt/node"))
    assert within.environment.software == (within.folder / "node",)


# --- what an agent sees


@pytest.mark.parametrize("name", ["bubblewrap", "none"])
def test_in_a_sandbox(name, software, npm_agent, tmp_path):
    sandbox = find_sandbox(name)
    if reason := sandbox.unavailable():
        pytest.skip(reason)
    table = {"requirements": "requirements.lock", "npm": "package-lock.json"} if find_node() else {}
    (npm_agent / "requirements.lock").write_text("tiny==1.0\n")
    built = build(Software.parse({"requirements": "requirements.lock", **table}, npm_agent), name, say=quiet)
    home = tmp_path / "home"
    for folder in ("data", "submission", "code", "logs", "agent"):
        (home / folder).mkdir(parents=True)
    world = World(
        data=home / "data",
        submission=home / "submission",
        code=home / "code",
        logs=home / "logs",
        agent=home / "agent",
        python=built.python,
        software=built.software,
        root=built.root,
        image=built.image,
    )
    script = "tiny && python -c 'import tiny, sys; print(tiny.__file__, sys.prefix)'" + " && far" * bool(built.software)
    if name == "bubblewrap" or os.geteuid() != 0:
        script += f" && ! touch {built.python}/mine 2>/dev/null && ! rm {built.python}/bin/tiny 2>/dev/null"
    outcome = sandbox.run(world, ["sh", "-c", script], Limits(60), home / "out.txt")
    said = (home / "out.txt").read_text()
    assert outcome.end == "completed", said
    assert said.startswith(f"tiny speaks\n{built.python}/lib/")
    assert f" {built.python}\n" in said
    assert ("far 1.0.0 runs" in said) == bool(built.software)
