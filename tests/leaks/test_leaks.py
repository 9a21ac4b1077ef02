"""Each probe in this folder is near perfect on edition v1 of the twin, and no better than chance on v2."""

from pathlib import Path

import pytest

from mlebench import catalog
from mlebench.audit.leaks import Reach, find_probes, reach
from mlebench.errors import UsageError

PROBES = find_probes(Path(__file__).parent)


@pytest.mark.parametrize("name", PROBES)
def test_is_near_perfect_on_v1(name, twins):
    found = reach(PROBES[name], twins(name, "v1"))
    assert found.is_near_perfect, found


@pytest.mark.parametrize("name", PROBES)
def test_is_no_better_than_chance_on_v2(name, twins):
    found = reach(PROBES[name], twins(name, "v2"))
    assert found.is_chance, found


def test_every_leak_that_v2_corrects_has_a_probe():
    corrected = {
        competition.id
        for competition in catalog.competitions().values()
        if any(issue.kind == "leak" and issue.v2 for issue in competition.issues)
    }
    assert set(PROBES) == corrected


def test_a_probe_is_told_from_luck():
    assert Reach(score=0.98, chance=0.5, luckiest=0.6, best=1.0).is_near_perfect
    assert not Reach(score=0.9, chance=0.5, luckiest=0.6, best=1.0).is_near_perfect
    assert not Reach(score=0.9, chance=0.5, luckiest=0.6, best=1.0).is_chance
    assert Reach(score=0.55, chance=0.5, luckiest=0.6, best=1.0).is_chance
    assert not Reach(score=1.0, chance=8.0, luckiest=7.0, best=0.0).is_chance
    assert Reach(score=0.5, chance=8.0, luckiest=7.0, best=0.0).is_near_perfect
    assert Reach(score=9.0, chance=8.0, luckiest=7.0, best=0.0).is_chance
    assert Reach(score=None, chance=8.0, luckiest=7.0, best=0.0).is_chance


def test_a_leak_that_is_left_open_is_found(twins):
    name = "random-acts-of-pizza"
    assert not reach(PROBES[name], twins(name, "v1")).is_chance


def test_a_file_without_exploit_is_no_probe(tmp_path):
    (tmp_path / "river-levels.py").write_text("def cheat(public):\n    pass\n")
    with pytest.raises(UsageError, match="no leak probe"):
        find_probes(tmp_path)
