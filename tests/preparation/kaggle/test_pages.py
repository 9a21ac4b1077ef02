"""The original pages of competitions, fetched once and kept."""

import json

import pytest

from kaggle_stand_in import Fault
from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError, PreparationError
from mlebench.preparation.kaggle.errors import NotFound, RateLimited
from mlebench.preparation.kaggle.pages import fetch_all_pages, fetch_pages, original_description, read_pages

NAME = "spaceship-titanic"
PAGES = {
    "rules": "No outside data.",
    "Description": "<p>Who was <b>transported</b>?</p>\r\n<p>Say so.</p>",
    "evaluation": "Accuracy — the share that is right.",
    "data-description": "train.csv: two thirds of the passengers, 旅客.",
    "../../Prizes?": "none",
}


@pytest.fixture
def held(kaggle):
    return kaggle.add(NAME, b"", pages=dict(PAGES), page_types={"Description": "text/html; charset=utf-8"})


@pytest.fixture
def dataset(tmp_path):
    return Dataset(catalog.get(NAME), tmp_path)


def test_pages_are_kept_as_they_are(client, held, dataset):
    fetch_pages(client, dataset)
    written = {path.name for path in (dataset.home / "pages").iterdir()}
    assert {"pages.json", "rules.md", "Description.html", "evaluation.md", "data-description.md"} < written
    assert len(written) == 6
    assert all(path.parent == dataset.home / "pages" for path in dataset.data_dir.rglob("*") if path.is_file())
    assert read_pages(dataset) == PAGES
    facts = json.loads((dataset.home / "pages" / "pages.json").read_text())
    assert facts["fetched"] < "3000"
    assert all(len(entry["sha256"]) == 64 for entry in facts["pages"])
    assert list(read_pages(dataset)) == list(PAGES)


def test_they_are_fetched_once_or_by_force(client, kaggle, held, dataset):
    fetch_pages(client, dataset)
    del held.pages["rules"]
    held.pages["evaluation"] = "Something else."
    assert fetch_all_pages([dataset], client=client) == {}
    assert len(kaggle.calls("ListCompetitionPages")) == 1
    assert read_pages(dataset)["evaluation"] == PAGES["evaluation"]
    assert fetch_all_pages([dataset], force=True, client=client) == {}
    assert read_pages(dataset)["evaluation"] == "Something else."
    assert not (dataset.home / "pages" / "rules.md").exists()


def test_names_that_a_file_system_may_not_tell_apart(client, kaggle, dataset):
    kaggle.add(NAME, b"", pages={"rules": "a", "Rules": "b", "RULES": "c"})
    fetch_pages(client, dataset)
    assert list(read_pages(dataset).values()) == ["a", "b", "c"]


def test_the_original_description_is_that_of_the_task(client, held, dataset):
    fetch_pages(client, dataset)
    text = original_description(dataset)
    assert text.startswith("Title: Spaceship Titanic\n\nOrigin: ")
    parts = [text.index(part) for part in ("Who was <b>", "the share that is right", "two thirds")]
    assert parts == sorted(parts)
    assert "outside data" not in text


def test_without_a_description_there_is_none(client, kaggle, dataset):
    kaggle.add(NAME, b"", pages={"rules": "x", "evaluation": "y"})
    fetch_pages(client, dataset)
    with pytest.raises(PreparationError, match=r"\(rules, evaluation\) have none named description"):
        original_description(dataset)


def test_what_is_missing_or_changed_is_named(client, held, dataset):
    with pytest.raises(NotPreparedError, match=f"mlebench prepare -c {NAME} --pages"):
        read_pages(dataset)
    fetch_pages(client, dataset)
    (dataset.home / "pages" / "rules.md").write_text("All is allowed.")
    with pytest.raises(PreparationError, match=r"rules\.md is not as it was fetched"):
        read_pages(dataset)
    (dataset.home / "pages" / "pages.json").write_text("{")
    with pytest.raises(PreparationError, match=r"pages\.json is broken"):
        read_pages(dataset)


def test_faults(client, kaggle, held, dataset, pauses, tmp_path):
    held.pages = {}
    with pytest.raises(NotFound, match="no page"):
        fetch_pages(client, dataset)
    held.pages = dict(PAGES)
    other = Dataset(catalog.get("AI4Code"), tmp_path)
    kaggle.fail("ListCompetitionPages", Fault.rules(), competition=NAME)
    problems = fetch_all_pages([dataset, other], client=client)
    assert "competitions/spaceship-titanic/rules" in problems[NAME]
    assert "HTTP 404" in problems["AI4Code"]
    kaggle.fail("ListCompetitionPages", Fault.answer(429, retry_after="3"))
    fetch_pages(client, dataset)
    assert pauses == [3]
    kaggle.fail("ListCompetitionPages", Fault.answer(429), times=9)
    with pytest.raises(RateLimited):
        fetch_pages(client, dataset, force=True)
    assert read_pages(dataset)["rules"] == PAGES["rules"]


def test_prepare_fetches_them_first(mlebench, kaggle, held, monkeypatch, tmp_path):
    for name, value in kaggle.environment.items():
        monkeypatch.setenv(name, value)
    arguments = ("prepare", "--source", "synthetic", "--rows", 60, "--data-dir", tmp_path, "--pages")
    mlebench(*arguments, "-c", NAME)
    dataset = Dataset(catalog.get(NAME), tmp_path)
    assert dataset.is_prepared
    assert read_pages(dataset) == PAGES
    shown = mlebench(*arguments, "-c", NAME, "-c", "spooky-author-identification", code=1)
    assert "spooky-author-identification: original pages: not fetched" in shown.stderr
    assert Dataset(catalog.get("spooky-author-identification"), tmp_path).is_prepared
    assert len(kaggle.calls("ListCompetitionPages")) == 2
