"""The table [software] of agent.toml."""

import re
from pathlib import Path

import pytest

from mlebench import agents
from mlebench.environments import Software, with_base
from mlebench.environments.locks import HERE, base_files, has_hashes, logical_lines, require_pinned
from mlebench.errors import UsageError


@pytest.fixture
def folder(tmp_path):
    for name, text in {"req.lock": "six==1.17.0\n", "package.json": "{}", "package-lock.json": "{}"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_all_keys(folder):
    table = {
        "python": ">=3.12,<3.14",
        "base": "light",
        "requirements": "req.lock",
        "no_deps": ["aideml==0.2.2"],
        "npm": "package-lock.json",
        "root": "trixie",
        "root_packages": ["tmux", "git"],
    }
    assert Software.parse(table, folder) == Software(
        python=">=3.12,<3.14",
        base="light",
        requirements=folder / "req.lock",
        no_deps=("aideml==0.2.2",),
        npm=folder / "package-lock.json",
        root="trixie",
        root_packages=("git", "tmux"),
    )


def test_an_empty_table_is_an_environment_without_packages(folder):
    assert Software.parse({}, folder) == Software()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"pyhton": ">=3.12"}, "no key 'pyhton'; there are python, base"),
        ({"python": 3.12}, "python of [software] is a string, not 3.12"),
        ({"python": ""}, "python of [software] is a string, not ''"),
        ({"python": "3.12 or so"}, '">=3.12,<3.14", not "3.12 or so"'),
        ({"base": "huge"}, 'base of [software] is "huge"; there are light, standard'),
        ({"requirements": "none.lock"}, "there is no file"),
        ({"requirements": ["req.lock"]}, "requirements of [software] is a string"),
        ({"no_deps": "aideml==0.2.2"}, "no_deps of [software] is a list of strings, not 'aideml==0.2.2'"),
        ({"no_deps": [1]}, "no_deps of [software] is a list of strings"),
        ({"no_deps": ["aideml"]}, 'exact versions, as "six==1.17.0", not "aideml"'),
        ({"no_deps": ["aideml>=0.2"]}, 'not "aideml>=0.2"'),
        ({"npm": "package.json"}, "names a package-lock.json with its package.json beside it"),
        ({"root_packages": {"a": 1}}, "root_packages of [software] is a list of strings"),
    ],
)
def test_what_is_wrong_is_named(table, message, folder):
    with pytest.raises(ValueError, match=re.escape(message)):
        Software.parse(table, folder)


def test_a_lock_of_npm_needs_its_package_json(folder):
    (folder / "package.json").unlink()
    with pytest.raises(ValueError, match=r"package\.json beside it"):
        Software.parse({"npm": "package-lock.json"}, folder)


def test_another_base(folder):
    own = Software.parse({"base": "standard", "requirements": "req.lock"}, folder)
    assert with_base(own, None) is own
    assert with_base(own, "light") == Software(base="light", requirements=folder / "req.lock")
    assert with_base(None, "light") == Software(base="light")
    assert with_base(None, None) is None


def test_an_agent_is_named_as_the_command_line_knows_it(folder):
    assert Software.parse({}, folder).agent == str(folder)
    assert Software.parse({}, agents.BUILT_IN / "sample").agent == "sample"


@pytest.mark.parametrize(
    "text",
    [
        "six==1.17.0\n",
        "# a comment\nsix==1.17.0  # why\n\n",
        "six==1.17.0 ; python_version < '3.13'\n",
        "six===1.17.0",
        "aideml[all]==0.2.2",
        "six==1.17.0 \\\n    --hash=sha256:4721f391 \\\n    --hash=sha256:ff70335d\n",
        "six @ https://example.org/six-1.17.0-py2.py3-none-any.whl\n",
    ],
)
def test_pinned_requirements(text, tmp_path):
    (tmp_path / "req.lock").write_text(text)
    require_pinned(tmp_path / "req.lock")
    assert len(logical_lines(tmp_path / "req.lock")) == 1
    assert has_hashes(tmp_path / "req.lock") == ("--hash" in text)


@pytest.mark.parametrize(
    "line", ["six", "six>=1.17.0", "six==1.*", "-r other.txt", "--index-url https://x", "./folder"]
)
def test_requirements_that_are_not_pinned_are_refused(line, tmp_path):
    (tmp_path / "req.lock").write_text(f"idna==3.10\n{line}\n")
    with pytest.raises(UsageError, match=re.escape(f'"{line}"')):
        require_pinned(tmp_path / "req.lock")


# --- the bases


def pins(base):
    """Package and version; which platforms a line is for depends on what else there is."""
    return {line.partition(";")[0].strip() for line in logical_lines(base_files(base)[1])}


def names(path: Path):
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    return {re.split("[<>=]", line)[0] for line in lines if line and not line.startswith("-r")}


def test_light_is_a_part_of_standard_with_the_same_versions():
    assert pins("light") < pins("standard")


@pytest.mark.parametrize("base", ["light", "standard"])
def test_every_package_of_a_base_is_pinned(base):
    require_pinned(base_files(base)[1])
    assert names(HERE / f"{base}.in") <= {re.split(r"[=\[ ]", line)[0] for line in pins(base)}


def test_light_holds_what_built_in_agents_import():
    known = {"sklearn": "scikit-learn", "PIL": "pillow"}
    for agent in agents.agents().values():
        assert {known.get(name, name) for name in agent.packages} <= names(HERE / "light.in"), agent.id


def versions(lines):
    """The versions that a lock pins a package to, on one platform or another."""
    found = {}
    for line in lines:
        name, _, version = line.partition(";")[0].strip().partition("==")
        found.setdefault(re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower(), set()).add(version)
    return found


@pytest.mark.parametrize("base", ["light", "standard"])
@pytest.mark.parametrize("agent", [agent for agent in agents.agents().values() if agent.software], ids=lambda a: a.id)
def test_what_built_in_agents_require_agrees_with_the_bases(agent, base):
    if agent.software.requirements is None:
        return
    own, theirs = versions(logical_lines(agent.software.requirements)), versions(logical_lines(base_files(base)[1]))
    assert own
    assert not {name: (own[name], theirs[name]) for name in own.keys() & theirs if not own[name] & theirs[name]}
