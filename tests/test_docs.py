"""The documentation names what there is."""

import re
from pathlib import Path

import pytest

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
