"""The page on testing says what happens."""

import doctest
import re
from pathlib import Path

from mlebench.testing.engineers import engineers_by_name
from mlebench.testing.faults import Fault
from mlebench.testing.server import DIALECTS

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_examples_give_what_is_shown():
    done = doctest.testfile(str(PAGE), module_relative=False)
    assert done.attempted > 10
    assert done.failed == 0


def test_every_engineer_is_described():
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == list(engineers_by_name())


def test_every_fault_is_described():
    made = [name for name, each in vars(Fault).items() if isinstance(each, classmethod)]
    described = PAGE.read_text().partition("## Faults")[2]
    assert made
    assert [name for name in made if f".{name}(" not in described] == []


def test_every_path_is_described():
    assert [path for path in DIALECTS if f"`{path}`" not in PAGE.read_text()] == []
