"""Everything here writes into a cache of its own, and grades the twin of spaceship-titanic."""

import pytest

from mlebench.registry import Registry


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def competition(twins):
    """spaceship-titanic with its synthetic twin prepared."""
    return Registry(twins("spaceship-titanic").data_dir).get_competition("spaceship-titanic")


@pytest.fixture
def unprepared(tmp_path):
    return Registry(tmp_path / "nothing").get_competition("spaceship-titanic")
