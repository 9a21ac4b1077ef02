"""The documentation names what there is."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from mlebench.cli import main
from mlebench.errors import ENDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith("https://"):
            file, _, anchor = target.partition("#")
            other = page.parent / file if file else page
            assert other.exists(), target
            assert not anchor or anchor in anchors(other.read_text()), target


def anchors(text):
    """What headings are called in links, as most renderers of Markdown have it."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    for path in re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_all_ends_of_attempts_stand_in_their_table():
    page = (ROOT / "docs" / "runs.md").read_text()
    rows = [line.strip("| \n").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    told = {row[0].strip("`"): row[1:] for row in rows if len(row) == 6}
    culprits, words = {"": "–", "agent": "the agent's", "us": "ours", "outside": "outside"}, {True: "yes", False: "no"}
    assert set(told) == set(ENDS)
    for end in ENDS.values():
        meaning, culprit, *rest = told[end.name]
        assert (culprit, rest) == (culprits[end.culprit], [words[end.graded], words[end.rerun], words[end.counts]])
        assert meaning == end.meaning.replace("language model", "model")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_the_options_that_are_typed(page):
    for line in typed(page.read_text()):
        command, words = main, line
        context = click.Context(main, info_name="mlebench")
        options = names_of(command)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(context, words[0])
            assert command is not None, line
            options |= names_of(command)
            words = words[1:]
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= options | {"-h", "--help"}, line


def typed(text):
    """The words after "mlebench" of each command in a console block, and in the text."""
    blocks = "\n".join(re.findall(r"^```console$(.*?)^```$", text, re.DOTALL | re.MULTILINE)).replace("\\\n", " ")
    lines = re.findall(r"^\$ (?:.*&& )?mlebench (.*)$", blocks, re.MULTILINE)
    lines += re.findall(r"`mlebench ([^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
    for line in lines:
        words = shlex.split(re.sub(r"\[.*?\]", "", line), comments=True)
        end = next((place for place, word in enumerate(words) if word in ("|", "&", "&&", ">", "...", "…")), None)
        yield words[:end]


def names_of(command):
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


def test_faults_are_named_in_the_words_of_the_program():
    page = (ROOT / "docs" / "data.md").read_text()
    sections = [
        page.partition(f"## {title}")[2].partition("## ")[0] for title in ("Verification", "When something fails")
    ]
    rows = [line.split(" | ")[0] for section in sections for line in section.splitlines() if line.startswith("| ")]
    phrases = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]
    said = list(said_by_the_program())
    for phrase in phrases:
        parts = [part.strip() for part in phrase.split("…")]
        assert any(all(part in text for part in parts) for text in said), phrase
    assert len(phrases) > 20


def said_by_the_program():
    """The texts in its source, with … for what is filled in."""
    for path in sorted((ROOT / "src" / "mlebench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
