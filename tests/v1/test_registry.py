import copy
import dataclasses
import inspect
import pickle
from pathlib import Path

import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import MlebenchError
from mlebench.registry import Competition, Registry, registry


def test_set_data_dir_returns_a_new_registry(tmp_path):
    before = registry.get_data_dir()
    other = registry.set_data_dir(tmp_path)
    assert isinstance(other, Registry)
    assert other.get_data_dir() == tmp_path
    assert registry.get_data_dir() == before


def test_ids_are_sorted_and_include_those_for_development():
    ids = registry.list_competition_ids()
    assert ids == sorted(ids)
    assert set(ids) == set(catalog.competitions())
    assert "spaceship-titanic" in ids


def test_an_unknown_id_raises():
    with pytest.raises(MlebenchError, match="spaceship-titanic"):
        registry.get_competition("spaceship-titanc")


SPLITS = {"low": 22, "medium": 38, "high": 15, "dev": 7, "split75": 75, "systemcard": 30, "spaceship-titanic": 1}


@pytest.mark.parametrize(("name", "size"), SPLITS.items())
def test_splits_are_files(name, size):
    ids = (registry.get_splits_dir() / f"{name}.txt").read_text().splitlines()
    assert len(ids) == len(set(ids)) == size


def test_splits_fit_together():
    ids = {name: set((registry.get_splits_dir() / f"{name}.txt").read_text().split()) for name in SPLITS}
    assert ids["low"] | ids["medium"] | ids["high"] == ids["split75"]
    assert ids["systemcard"] <= ids["split75"]
    assert ids["dev"].isdisjoint(ids["split75"])
    assert len(ids["split75"] | ids["dev"]) == 82


def test_splits_agree_with_the_catalogue():
    for competition in catalog.competitions().values():
        if competition.folder.parent == catalog.BUILT_IN:
            split = (registry.get_splits_dir() / f"{competition.complexity}.txt").read_text().split()
            assert competition.id in split


def test_lite_is_the_split_low():
    assert registry.get_lite_competition_ids() == (registry.get_splits_dir() / "low.txt").read_text().splitlines()


def test_competitions_dir_holds_the_competitions():
    assert (registry.get_competitions_dir() / "spaceship-titanic" / "description.md").is_file()


def test_an_unprepared_competition_has_all_attributes(unprepared, tmp_path):
    home = tmp_path / "nothing" / "spaceship-titanic"
    assert isinstance(unprepared, Competition)
    assert (unprepared.id, unprepared.name) == ("spaceship-titanic", "Spaceship Titanic")
    assert unprepared.competition_type == "simple"
    assert "PassengerId" in unprepared.description  # the text, not a path
    assert unprepared.public_dir == home / "prepared" / "public"
    assert unprepared.private_dir == home / "prepared" / "private"
    assert unprepared.raw_dir == home / "raw"
    assert unprepared.answers == unprepared.gold_submission == unprepared.private_dir / "test.csv"
    assert unprepared.sample_submission == unprepared.public_dir / "sample_submission.csv"
    assert isinstance(unprepared.grader.name, str)
    assert not home.exists()


def test_the_prepare_function_has_the_parameters_of_v1(unprepared):
    assert list(inspect.signature(unprepared.prepare_fn).parameters) == ["raw", "public", "private"]


def test_checksums_are_a_yaml_file(unprepared):
    import json  # JSON is YAML

    sums = json.loads(unprepared.checksums.read_text())
    assert unprepared.checksums.suffix == ".yaml"
    assert sums["zip"] == "67c177886736583aff9b947e121395a9"
    assert sums["private"] == {"test.csv": "1cb99c65efecaba968128577722a83ef"}
    assert set(sums["public"]) == {"sample_submission.csv", "test.csv", "train.csv"}


def test_the_leaderboard_says_that_it_is_interpolated(unprepared):
    assert "interpolated" in unprepared.leaderboard.name
    table = pd.read_csv(unprepared.leaderboard)
    assert "score" in table.columns
    assert len(table) == 2288


def test_copies_may_be_changed(unprepared):
    by_copy = copy.copy(unprepared)
    object.__setattr__(by_copy, "answers", Path("/other.csv"))
    by_replace = dataclasses.replace(unprepared, answers=Path("/other.csv"))
    assert by_copy.answers == by_replace.answers == Path("/other.csv")
    assert unprepared.answers.name == "test.csv"
    with pytest.raises(dataclasses.FrozenInstanceError):
        unprepared.id = "x"


def test_competitions_survive_pickling(unprepared):
    again = pickle.loads(pickle.dumps(unprepared))
    assert again.answers == unprepared.answers
    assert again.grader.name == unprepared.grader.name


def test_own_competitions_are_found(monkeypatch, tmp_path):
    import shutil

    shutil.copytree(catalog.BUILT_IN / "spaceship-titanic", tmp_path / "my-own")
    monkeypatch.setenv("MLEBENCH_COMPETITIONS", str(tmp_path))
    assert "my-own" in registry.list_competition_ids()
    assert registry.get_competition("my-own").leaderboard.is_file() is False  # nobody competed in it
