"""The page on the gateway: its example runs and prints what it says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "gateway.md"


def test_the_example():
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0
