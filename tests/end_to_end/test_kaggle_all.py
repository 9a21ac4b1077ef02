"""All competitions from Kaggle: what is prepared is, byte for byte, what source `synthetic` prepares."""

import pytest

from mlebench import catalog


def test_all_are_prepared_as_from_source_synthetic(kaggle, user, twins_of):
    twins = twins_of([*catalog.competitions()])
    assert len(twins) == 82
    for twin in twins:
        kaggle.add(twin.id, twin.archive)
    told = user.call("prepare", "--all", "--jobs", "2", "--data-dir", user.data_dir, "--json")
    assert {(result["state"], result["source"]) for result in told.json()} == {("prepared", "kaggle")}
    for twin in twins:
        assert user.dataset(twin.id).manifest()["files"] == twin.files, twin.id
        kept = {path.name for path in user.dataset(twin.id).home.iterdir() if not path.name.startswith(".")}
        assert "prepared" in kept
        assert len(kept) == (3 if has_published_md5(twin.id) else 1), kept  # the download with its record
        assert kaggle.traffic(twin.id).twice <= 1  # one byte is asked for to learn the size of all


@pytest.mark.slow
def test_the_second_edition_too(kaggle, user, twins_of):
    ids = [competition.id for competition in catalog.competitions().values() if competition.differs_in_v2]
    assert len(ids) > 40
    for twin in twins_of(ids):
        kaggle.add(twin.id, twin.archive)
    user.prepare(ids, "--jobs", "2", "--edition", "v2")
    for twin in twins_of(ids, "v2"):
        assert user.dataset(twin.id, "v2").manifest()["files"] == twin.files, twin.id


def has_published_md5(name):
    """Then the download stays, for no twin is as published."""
    return bool({*catalog.get(name).checksums} - {"zip"})
