"""Competition folders written for the original benchmark load and work as they are."""

import json
import zipfile

import pytest
from click.testing import CliRunner

from mlebench import catalog
from mlebench.cli import main
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, InvalidSubmission
from mlebench.grading import grade, score_submission
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local

ID = "river-levels"
CONFIG = """
id: river-levels
name: River Levels
competition_type: simple
awards_medals: false
prizes: null
description: mlebench/competitions/river-levels/description.md
dataset:
  answers: river-levels/prepared/private/answers.csv
  sample_submission: river-levels/prepared/public/sample_submission.csv
grader:
  name: mean-error
  grade_fn: mlebench.competitions.river-levels.grade:grade
preparer: mlebench.competitions.river-levels.prepare:prepare
"""
PREPARE = """
from pathlib import Path
from sklearn.model_selection import train_test_split
from mlebench.utils import read_csv
from .columns import TARGET

def prepare(raw: Path, public: Path, private: Path):
    train, test = train_test_split(read_csv(raw / "levels.csv"), test_size=0.5, random_state=0)
    train.to_csv(public / "train.csv", index=False)
    test.drop(columns=TARGET).to_csv(public / "test.csv", index=False)
    test.to_csv(private / "answers.csv", index=False)
    test.assign(**{TARGET: 0.0}).to_csv(public / "sample_submission.csv", index=False)
"""
GRADE = """
import pandas as pd
from mlebench.grade_helpers import InvalidSubmissionError
from mlebench.competitions.utils import rle_decode
from .columns import TARGET

def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    if TARGET not in submission.columns:
        raise InvalidSubmissionError(f"no column {TARGET}")
    assert len(submission) == len(answers), "wrong number of rows"
    both = submission.merge(answers, on="id")
    return (both[TARGET + "_x"] - both[TARGET + "_y"]).abs().mean()
"""


@pytest.fixture
def folders(tmp_path):
    folder = tmp_path / "own" / ID
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "prepare.py").write_text(PREPARE)
    (folder / "grade.py").write_text(GRADE)
    (folder / "columns.py").write_text('TARGET = "level"\n')
    (folder / "description.md").write_text("How high is the water?\n")
    (folder / "leaderboard.csv").write_text("team,score\na,0.1\nb,0.2\nc,0.5\nd,3\n")
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "levels.csv").write_text("id,level\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    return (folder.parent,)


@pytest.fixture
def dataset(folders, tmp_path):
    dataset = Dataset(catalog.get(ID, folders), tmp_path / "data")
    prepare(dataset, Local(tmp_path / "raw"))
    return dataset


def test_facts(folders):
    competition = catalog.get(ID, folders)
    assert (competition.title, competition.type, competition.metric.title) == ("River Levels", "simple", "mean-error")
    assert not competition.metric.higher_is_better
    assert competition.leaderboard.teams == 4
    assert competition.description == "How high is the water?\n"
    assert competition.answers_file == "answers.csv"
    assert competition.in_edition("v2").edition == "v2"


def test_prepares_and_grades(dataset, tmp_path):
    assert dataset.manifest()["sample_score"] == grade(dataset.sample_submission, dataset).score
    perfect = grade(dataset.private / "answers.csv", dataset)
    assert (perfect.score, perfect.medal, perfect.rank) == (0, "gold", 1)


def test_the_grader_decides_what_is_valid(dataset, tmp_path):
    path = tmp_path / "submission.csv"
    path.write_text("id,water\n1,2\n")
    with pytest.raises(InvalidSubmission, match="no column level"):
        score_submission(path, dataset)
    path.write_text("id,level\n1,2\n")
    with pytest.raises(InvalidSubmission, match="wrong number of rows"):
        score_submission(path, dataset)
    validation = dataset.competition.validate(path, dataset.sample_submission)
    assert validation.valid
    assert "10 rows, this file 1" in validation.message()
    path.write_bytes(b"id,level\n\0\0")
    assert not dataset.competition.validate(path, dataset.sample_submission).valid


def test_works_in_every_command(folders, tmp_path):
    data, own = ["--data-dir", str(tmp_path / "data")], ["--competitions", str(folders[0])]
    with zipfile.ZipFile(tmp_path / f"{ID}.zip", "w") as archive:
        archive.write(tmp_path / "raw" / "levels.csv", "levels.csv")

    def call(*arguments):
        result = CliRunner().invoke(main, [*arguments, *own], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert ID in call("list")
    assert "the competition's grader decides" in call("show", ID, *data)
    call("check", ID)
    call("prepare", "-c", ID, "--source", str(tmp_path / f"{ID}.zip"), *data)
    sample = str(tmp_path / "data" / ID / "prepared" / "public" / "sample_submission.csv")
    assert "valid" in call("validate", sample, ID, *data)
    assert json.loads(call("grade-sample", sample, ID, *data))["valid_submission"]
    run = ["run", "--agent", "sample", "-c", ID, "--runs-dir", str(tmp_path / "runs"), "--sandbox", "none", "--json"]
    assert json.loads(call(*run, *data))["attempts"][0]["grade"]["valid_submission"]


def test_the_original_registry_knows_it(dataset, folders, monkeypatch):
    from mlebench.grade import grade_csv, validate_submission
    from mlebench.registry import Registry

    monkeypatch.setenv("MLEBENCH_COMPETITIONS", str(folders[0]))
    competition = Registry(dataset.data_dir).get_competition(ID)
    assert competition.grader.name == "mean-error"
    assert grade_csv(competition.answers, competition).score == 0
    assert validate_submission(competition.sample_submission, competition) == (True, "Submission is valid.")


def test_a_broken_folder_is_told(folders):
    folder = folders[0] / ID
    (folder / "grade.py").write_text("import no_such_module\n")
    with pytest.raises(CompetitionError, match="no_such_module"):
        catalog.load(folder).grade(None, None)
    (folder / "config.yaml").write_text("name: x\n")
    with pytest.raises(CompetitionError, match="dataset"):
        catalog.load(folder)
    (folder / "config.yaml").write_text("- x\n")
    with pytest.raises(CompetitionError, match="holds no keys"):
        catalog.load(folder)
