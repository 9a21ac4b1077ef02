"""What preparations need: facts of all competitions, sums that are published, the true download."""

import dataclasses

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.preparation.archives import zip_files
from mlebench.preparation.disk.sizes import _facts, listed_bytes, needs, needs_of_all
from mlebench.preparation.engine import prepare
from mlebench.preparation.files import walk
from mlebench.preparation.sources import Local, Synthetic


@pytest.mark.parametrize("edition", ["v1", "v2"])
def test_every_competition_has_its_figures(edition):
    known = {c.id for c in catalog.competitions().values() if edition in c.editions}
    assert set(_facts()["ratios"][edition]) == known
    for competition in catalog.competitions().values():
        found = needs(competition.in_edition(edition))
        assert 0 < found.download <= found.peak, competition.id
        assert 0 < found.final <= found.peak, competition.id
        assert found.basis in ("published", "estimated")


def test_sizes_are_estimated_only_where_none_is_right():
    published = {c.id for c in catalog.competitions().values() if (c.dataset_gb or 0) >= 0.1}
    assert not published & set(_facts()["estimated_gb"])


def test_sums_are_those_that_the_authors_report():
    def terabytes(split):
        return sum(listed_bytes(competition)[0] for competition in catalog.split(split)) / 1e12

    assert terabytes("lite") == pytest.approx(0.158, abs=0.001)
    assert terabytes("all") == pytest.approx(3.3, abs=0.05)


def test_what_is_kept_costs():
    birds = catalog.get("dogs-vs-cats-redux-kernels-edition")
    nothing, archive, raw = (needs(birds, keep=keep) for keep in ("nothing", "zip", "raw"))
    assert archive.final == nothing.final + nothing.download
    assert nothing.peak > raw.final > nothing.final
    assert nothing.peak == archive.peak == raw.peak


def test_the_true_download_corrects_what_is_too_small():
    taxi = catalog.get("new-york-city-taxi-fare-prediction")
    assert needs(taxi, 1_700_000_000).download == 1_700_000_000
    assert needs(taxi, 1_700_000_000).final == needs(taxi).final
    larger = needs(taxi, 8_000_000_000)
    assert larger.basis == "download"
    assert larger.final > 2 * needs(taxi).final
    twin = needs(taxi, 100_000)
    assert twin.basis == "download"
    assert 100_000 < twin.peak < 1_000_000


def test_a_strangers_competition_is_unknown_until_it_is_downloaded():
    mine = dataclasses.replace(catalog.get("spaceship-titanic"), id="mine", dataset_gb=None)
    assert needs(mine).unknown == ("mine",)
    assert needs(mine).basis == "unknown"
    found = needs(mine, 1000)
    assert (found.download, found.peak, found.final, found.unknown) == (1000, 3000, 1000, ())


def test_several_peak_when_the_largest_come_last():
    some = [catalog.get(name) for name in ("spaceship-titanic", "ml2021spring-hw2", "dog-breed-identification")]
    each = [needs(competition) for competition in some]
    one, two = needs_of_all(some), needs_of_all(some, jobs=2)
    on_top = sorted((found.peak - found.final for found in each), reverse=True)
    assert one.final == sum(found.final for found in each)
    assert one.peak == one.final + on_top[0]
    assert two.peak == one.peak + on_top[1]
    assert needs_of_all(some, {"spaceship-titanic": 10**9}).download > one.download
    assert needs_of_all([]).peak == 0


def test_hours():
    assert needs(catalog.get("siim-isic-melanoma-classification")).hours_at(12.5e6) == pytest.approx(2.6, abs=0.1)


@pytest.mark.parametrize("competition_id", ["spaceship-titanic", "dogs-vs-cats-redux-kernels-edition"])
def test_a_preparation_takes_what_was_foretold(competition_id, tmp_path):
    competition, made = catalog.get(competition_id), tmp_path / "made"
    made.mkdir()
    Synthetic().fetch(competition, made)
    raw_bytes = sum(path.stat().st_size for path in walk(made))
    zip_files([(path, path.relative_to(made).as_posix()) for path in walk(made)], tmp_path / "twin.zip")
    dataset = Dataset(dataclasses.replace(competition, dataset_gb=raw_bytes / 1e9), tmp_path / "data")
    prepare(dataset, Local(tmp_path / "twin.zip"))
    final = sum({path.stat().st_ino: path.stat().st_size for path in walk(dataset.prepared)}.values())
    assert final == pytest.approx(needs(dataset.competition).final, rel=0.1)
