"""Systems of their own, for a Python that the host doesn't have."""

import shutil
import subprocess

import pytest

from mlebench.environments import Software, build, find, roots
from mlebench.environments.roots import Root, inside
from mlebench.errors import UsageError
from mlebench.sandbox import Limits, World, find_sandbox

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")


def quiet(_):
    """Says nothing."""


@pytest.fixture
def tree(tmp_path):
    """A root with the shell of the host and the libraries that it needs, and with a file of its own in /etc."""
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    (tree / "etc" / "mark").write_text("the root's\n")
    needed = subprocess.run(["ldd", "/bin/cat"], capture_output=True, text=True, check=True).stdout.split()
    for path in ["/bin/sh", "/bin/cat", *{word for word in needed if word.startswith("/")}]:
        target = tree / path.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return tree


@needs_bwrap
def test_inside_stand_the_system_of_the_root_and_the_files_of_the_host(tree, tmp_path, monkeypatch):
    (tmp_path / "note").write_text("the host's\n")
    monkeypatch.setenv("COLOUR", "blue")
    script = f"cat /etc/mark {tmp_path}/note; echo $COLOUR > {tmp_path}/new; echo > /bin/new"
    ran = subprocess.run(inside(tree, ["/bin/sh", "-c", script]), capture_output=True, text=True, check=False)
    assert ran.stdout == "the root's\nthe host's\n", ran.stderr
    assert (tmp_path / "new").read_text() == "blue\n"
    assert "Read-only file system" in ran.stderr
    assert not (tree / "bin" / "new").exists()


@needs_bwrap
def test_names_and_certificates_are_found_inside(tree):
    script = "cat /etc/resolv.conf; test -d /etc/ssl/certs && echo certificates"
    ran = subprocess.run(inside(tree, ["/bin/sh", "-c", script]), capture_output=True, text=True, check=False)
    with open("/etc/resolv.conf", encoding="utf-8") as file:  # noqa: PTH123
        assert ran.stdout.startswith(file.read())


def test_what_is_in_it_decides_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path))
    several = [Root("trixie"), Root("sid"), Root("trixie", ("git",)), Root("trixie", ("git", "tmux"))]
    assert len({root.folder for root in several}) == len(several)
    assert Root("trixie", ("tmux", "git", "python3")).folder == Root("trixie", ("git", "tmux")).folder
    assert all(root.folder.parent == tmp_path / "roots" and not root.is_built() for root in several)


def test_a_machine_that_can_make_none_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="bubblewrap"):
        roots.build(Root("trixie"), quiet)
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(UsageError, match="mmdebstrap, debootstrap"):
        roots.build(Root("trixie"), quiet)


@pytest.mark.slow
@needs_bwrap
def test_an_agent_in_a_root_of_its_own(tmp_path, monkeypatch):
    """With Debian's true archive, and Python packages from the true index."""
    sandbox = find_sandbox("bubblewrap")
    if reason := sandbox.unavailable():
        pytest.skip(reason)
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    monkeypatch.setenv("MLEBENCH_UV", "")
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    (agent := tmp_path / "agent").mkdir()
    (agent / "requirements.lock").write_text("six==1.17.0\n")
    table = {"requirements": "requirements.lock", "root": "trixie", "root_packages": ["tmux"]}
    software = Software.parse({**table, "python": "==3.13.5"}, agent)
    built = build(software, "bubblewrap", say=quiet)
    assert find(software, "bubblewrap") == built
    assert built.root is not None
    later = Software.parse({**table, "python": "==3.13.4"}, agent)
    for act in (find, lambda *arguments: build(*arguments, say=quiet, force=True)):
        with pytest.raises(UsageError, match=r"its root, Debian trixie, has 3\.13\.5"):
            act(later, "bubblewrap")
    assert find(software, "bubblewrap") == built
    assert not [path for path in built.root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6000]
    for folder in ("data", "submission", "code", "logs"):
        (tmp_path / folder).mkdir()
    world = World(
        data=tmp_path / "data",
        submission=tmp_path / "submission",
        code=tmp_path / "code",
        logs=tmp_path / "logs",
        agent=agent,
        python=built.python,
        root=built.root,
    )
    script = "python -c 'import six, sys; print(sys.version_info[:2], six.__version__)' && which tmux"
    outcome = sandbox.run(world, ["sh", "-c", script], Limits(60), tmp_path / "out.txt")
    assert outcome.end == "completed"
    assert (tmp_path / "out.txt").read_text() == "(3, 13) 1.17.0\n/usr/bin/tmux\n"
