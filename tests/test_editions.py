"""Edition v2 stands beside v1: other files, other graders, nothing stored twice, nothing mixed up."""

import json

import pytest

from mlebench import catalog
from mlebench.competition import REVISIONS, load_competition
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, NotPreparedError
from mlebench.grading import grade
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic

FACTS = """
title = "River levels"
category = "Tabular"
complexity = "dev"
[metric]
name = "mean_absolute_error"
title = "mean absolute error"
direction = "lower"
best = 0.0
[submission]
id = "id"
[[submission.columns]]
name = "level"
[files]
answers = "answers.csv"
[[issues]]
kind = "leak"
summary = "The test table shows the level."
v2 = "The column is gone."
"""
V2 = """
[v2.metric]
name = "root_mean_squared_error"
title = "root mean squared error"
[v2.files]
answers = "answers_v2.csv"
"""
PREPARE = """
from mlebench.tables import write_csv
import pandas as pd

TABLE = pd.DataFrame({"id": [1, 2, 3], "level": [1.0, 2.0, 4.0]})

def prepare(raw, public, private):
    write_csv(TABLE, public / "test.csv")
    (public / "photo.png").write_bytes(b"photo")
    write_csv(TABLE, private / "answers.csv")
    write_csv(TABLE.assign(level=0.0), public / "sample_submission.csv")

def prepare_v2(raw, public, private):
    prepare(raw, public, private)
    write_csv(TABLE[["id"]], public / "test.csv")
    (private / "answers.csv").rename(private / "answers_v2.csv")
"""


@pytest.fixture
def competition(tmp_path):
    folder = tmp_path / "river-levels"
    folder.mkdir()
    (folder / "competition.toml").write_text(FACTS + V2)
    (folder / "description.md").write_text("How high is the water?")
    (folder / "description_v2.md").write_text("How high is the water, really?")
    (folder / "prepare.py").write_text(PREPARE)
    (folder / "synthetic.py").write_text("def make_raw(raw, rng, size):\n    (raw / 'x').write_text('x')\n")
    return load_competition(folder)


@pytest.fixture
def both(competition, tmp_path):
    datasets = [Dataset(competition.in_edition(edition), tmp_path / "data") for edition in ("v1", "v2")]
    for dataset in datasets:
        assert prepare(dataset, Synthetic())
    return datasets


def test_v2_changes_what_it_names_and_nothing_else(competition):
    second = competition.in_edition("v2")
    assert (second.edition, second.revision, second.metric.name) == ("v2", "v2.1", "root_mean_squared_error")
    assert (second.metric.best, second.answers_file, second.title) == (0.0, "answers_v2.csv", competition.title)
    assert second.in_edition("v1") == competition
    assert second.in_edition("v2") is second
    assert second.description == "How high is the water, really?"
    assert competition.description == "How high is the water?"


def test_an_unknown_or_outdated_edition_is_refused(competition):
    for edition in ("v3", "v2.0", "", "v1.1"):
        with pytest.raises(CompetitionError, match="there is no edition"):
            competition.in_edition(edition)
    assert competition.in_edition(REVISIONS["v2"]).edition == "v2"


def test_v2_can_only_change_certain_facts(competition):
    (competition.folder / "competition.toml").write_text(FACTS + '[v2]\ntitle = "Lakes"\n')
    with pytest.raises(CompetitionError, match=r"\[v2\] can't change title"):
        load_competition(competition.folder)


def test_the_editions_lie_side_by_side(both):
    first, second = both
    assert (first.prepared.name, second.prepared.name) == ("prepared", "prepared-v2")
    assert "level" in (first.public / "test.csv").read_text()
    assert "level" not in (second.public / "test.csv").read_text()
    assert (first.manifest()["edition"], second.manifest()["edition"]) == ("v1", "v2.1")
    assert (
        second.public / "description.md"
    ).read_text() == "Title: River levels\n\nOrigin: river-levels\n\nHow high is the water, really?"


def test_files_that_both_have_are_stored_once(both):
    first, second = both
    for name in ("photo.png", "sample_submission.csv"):
        assert (first.public / name).samefile(second.public / name)
    assert (first.private / "answers.csv").samefile(second.private / "answers_v2.csv")
    assert not (first.public / "test.csv").samefile(second.public / "test.csv")


def test_each_edition_is_graded_by_its_own_grader(both):
    first, second = (grade(dataset.sample_submission, dataset) for dataset in both)
    assert (first.edition, first.score) == ("v1", 2.33333)
    assert (second.edition, second.score) == ("v2.1", 2.64575)
    assert both[1].manifest()["sample_score"] == 2.64575


def test_data_of_another_revision_are_refused(both):
    path = both[1].manifest_path
    path.write_text(json.dumps({**json.loads(path.read_text()), "edition": "v2.0"}))
    with pytest.raises(NotPreparedError, match=r"is edition v2\.0.*--edition v2.*--force"):
        grade(both[1].sample_submission, both[1])
    assert prepare(both[1], Synthetic(), force=True)
    assert grade(both[1].sample_submission, both[1]).score == 2.64575


def test_a_competition_without_a_fault_has_one_folder(competition, tmp_path):
    (competition.folder / "competition.toml").write_text(FACTS)
    same = load_competition(competition.folder)
    first, second = (Dataset(same.in_edition(edition), tmp_path / "data") for edition in ("v1", "v2"))
    assert first.prepared == second.prepared
    assert prepare(first, Synthetic())
    assert not prepare(second, Synthetic())
    assert grade(second.sample_submission, second).edition == "v2.1"


def test_editions_of_the_catalog_stand_together():
    found = [(competition.id, competition.edition) for competition in catalog.in_all_editions()]
    assert found == sorted(found)
    assert ("stanford-covid-vaccine", "v2") in found
    assert ("spaceship-titanic", "v2") not in found
