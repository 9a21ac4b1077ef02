"""A grader that is given frames scores as the one that is given the files they were read from."""

import json
import zipfile
from pathlib import Path

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.grade import grade_csv
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local
from mlebench.registry import Registry
from mlebench.utils import load_answers, read_csv

FIXTURES = Path(__file__).parents[1] / "conformance" / "fixtures"
# Cells and answers of different forms: booleans, grades, many columns, run-length codes, texts, lists of ids.
IDS = [
    "spaceship-titanic",
    "aptos2019-blindness-detection",
    "leaf-classification",
    "tgs-salt-identification-challenge",
    "tweet-sentiment-extraction",
    "stanford-covid-vaccine",
    "h-and-m-personalized-fashion-recommendations",
]


@pytest.mark.parametrize("competition_id", IDS)
def test_frames_score_as_files(competition_id, tmp_path):
    fixture = FIXTURES / competition_id
    prepare(Dataset(catalog.get(competition_id), tmp_path), Local(fixture / "raw.zip"))
    competition = Registry(tmp_path).get_competition(competition_id)
    answers = load_answers(competition.answers)
    scores = {}
    with zipfile.ZipFile(fixture / "submissions.zip") as archive:
        archive.extractall(tmp_path / "submissions")
    for name in json.loads((fixture / "expected.json").read_text())["scores"]:
        path = tmp_path / "submissions" / f"{name}.csv"
        scores[name] = (grade_csv(path, competition).score, competition.grader(read_csv(path), answers))
    assert {name: files for name, (files, _) in scores.items()} == {
        name: frames for name, (_, frames) in scores.items()
    }
    assert any(score is not None for score, _ in scores.values())
