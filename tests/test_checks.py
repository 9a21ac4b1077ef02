"""Each check of a competition fails on one that lacks what it is for."""

import shutil
from dataclasses import replace

import pytest

from mlebench import catalog
from mlebench.checks import (
    COMPETITION_CHECKS,
    Twin,
    check_competition,
    preparing_twice_gives_the_same_bytes,
    run_check,
)
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic

TEMPLATE = catalog.BUILT_IN.parent / "templates" / "competition"

# check -> (file, what stands there, what breaks it)
FAULTS = {
    "schema_is_complete": (
        "prepare.py",
        'write_csv(test[["id"]].assign(flood=0), public / "sample_submission.csv")',
        'write_csv(test[["id"]].assign(flood=0, more=1), public / "sample_submission.csv")',
    ),
    "description_names_every_file": ("description.md", "train.csv", "other.csv"),
    "description_names_every_column": ("description.md", "- `snow`: centimetres of snow upstream\n", ""),
    "description_tells_the_metric": ("description.md", "Accuracy, to be maximised", "Accuracy"),
    "description_hides_its_origin": ("description.md", "# Will the river flood?", "# River levels on Kaggle"),
    "description_example_is_valid": ("description.md", "17,0\n", "17,2\n"),
    "crowded_leaderboards_are_told": ("leaderboard.csv", "", "score\n0.9\n0.899\n0.898\n0.897\n0.1\n"),
    "sample_submission_is_valid": (None, "", ""),
    "perfect_answers_score_best": ("competition.toml", "best = 1.0", "best = 0.5"),
    "row_order_is_irrelevant": (
        "score.py",
        "",
        "def score(submission, answers):\n"
        "    return (submission['flood'].to_numpy() == answers['flood'].to_numpy()).mean()\n",
    ),
    "missing_row_is_refused_by_name": (None, "", ""),
    "repeated_and_unknown_rows_are_refused": (None, "", ""),
    "missing_columns_are_refused_by_name": (None, "", ""),
    "no_example_is_on_both_sides": (
        "prepare.py",
        'write_csv(train, public / "train.csv")',
        'write_csv(__import__("pandas").concat([train, test]), public / "train.csv")',
    ),
    "answers_stay_private": (
        "prepare.py",
        'write_csv(test[["id", "flood"]], private / "answers.csv")',
        'write_csv(test[["id", "flood"]], private / "answers.csv")\n'
        '    write_csv(test[["id", "flood"]], public / "test_labels.csv")',
    ),
    "preparing_twice_gives_the_same_bytes": (
        "prepare.py",
        'write_csv(train, public / "train.csv")',
        "import random\n    write_csv(train.assign(noise=random.random()), public / 'train.csv')",
    ),
}
# No competition lacks these, since the engine gives them to all: a faulty engine is needed, see below.
OF_THE_ENGINE = {name for name, (file, *_) in FAULTS.items() if file is None}


@pytest.fixture
def competition(tmp_path):
    """A copy of the skeleton with one text replaced."""

    def make(file=None, old="", new=""):
        folder = tmp_path / "river"
        shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        if file == "score.py":
            (folder / file).write_text(new)
            facts = (folder / "competition.toml").read_text().replace('name = "accuracy"', 'name = "score.py"')
            (folder / "competition.toml").write_text(facts)
        elif file == "leaderboard.csv":
            (folder / file).write_text(new)
        elif file:
            text = (folder / file).read_text()
            assert old in text
            (folder / file).write_text(text.replace(old, new))
        from mlebench import competition as module

        module._MODULES.clear()
        return load_competition(folder)

    return make


def twin(competition, tmp_path):
    dataset = Dataset(competition, tmp_path / "data")
    prepare(dataset, Synthetic())
    return Twin(dataset, tmp_path)


def test_no_check_is_forgotten():
    assert set(FAULTS) == {check.__name__ for check in COMPETITION_CHECKS}


@pytest.mark.parametrize("check", [c for c in COMPETITION_CHECKS if c.__name__ not in OF_THE_ENGINE])
def test_each_check_fails_where_it_should(check, competition, tmp_path):
    broken = competition(*FAULTS[check.__name__])
    result = run_check(check, broken, twin(broken, tmp_path))
    assert result.status == "failed", check.__name__
    assert result.reason


@pytest.mark.parametrize(
    ("needs", "status", "told"),
    [
        ((), "passed", ""),
        (("readings.csv",), "passed", ""),
        (("readings.csv", "photos/"), "failed", "needs photos/, which the twin lacks"),
        (("notes.txt",), "failed", "the raw file readings.csv is missing"),
    ],
)
def test_what_is_said_of_raw_files_is_checked(competition, tmp_path, needs, status, told):
    made = competition(
        "synthetic.py",
        'write_csv(readings, raw / "readings.csv")',
        'write_csv(readings, raw / "readings.csv")\n    (raw / "notes.txt").write_text("Ask Ann.")',
    )
    found = run_check(preparing_twice_gives_the_same_bytes, replace(made, raw_files=needs), twin(made, tmp_path))
    assert found.status == status
    assert told in found.reason


def test_an_invalid_sample_submission_stops_the_preparation(competition):
    results = list(check_competition(competition("prepare.py", "assign(flood=0)", "assign(flood=7)")))
    assert [(result.check, result.status) for result in results] == [("synthetic_twin_prepares", "failed")]
    assert "sample submission is invalid" in results[0].reason


@pytest.mark.parametrize("name", sorted(OF_THE_ENGINE))
def test_checks_see_a_faulty_engine(name, competition, tmp_path, monkeypatch):
    from mlebench import checks, submission

    good = competition()
    prepared = twin(good, tmp_path)
    if name == "sample_submission_is_valid":
        (prepared.dataset.sample_submission).write_text("id,flood\n")
    elif name == "missing_columns_are_refused_by_name":
        monkeypatch.setattr(checks, "_validate", lambda *_: submission.Validation(()))
    else:
        monkeypatch.setattr(submission, "_id_problems", lambda *_: iter(()))
    check = next(check for check in COMPETITION_CHECKS if check.__name__ == name)
    assert run_check(check, good, prepared).status == "failed"


def test_exceptions_are_needed_and_known(competition, tmp_path):
    end = "# A file leaderboard.csv"
    needless = competition("competition.toml", end, '[exceptions]\nanswers_stay_private = "no reason"\n' + end)
    results = {result.check: result for result in check_competition(needless)}
    assert results["answers_stay_private"].status == "failed"
    assert "take it out" in results["answers_stay_private"].reason
    shutil.rmtree(tmp_path / "river")
    unknown = competition("competition.toml", end, '[exceptions]\nno_such_check = "no reason"\n' + end)
    assert next(r for r in check_competition(unknown) if r.check == "exceptions").status == "failed"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('direction = "higher"', 'direction = "up"', "metric.direction is 'up'"),
        ('complexity = "dev"', 'complexity = "hard"', "complexity is 'hard'"),
        ('title = "River Levels"\n', "", "the key 'title' is missing"),
        ("[metric]", "[metric", "competition.toml:"),
        ('answers = "answers.csv"', "", "the key 'answers' is missing"),
    ],
)
def test_faults_in_the_facts_are_named(competition, old, new, message):
    with pytest.raises(CompetitionError) as caught:
        competition("competition.toml", old, new)
    assert message in str(caught.value)
    assert "competition.toml" in str(caught.value)


def test_a_faulty_schema_is_the_competitions_fault(competition, tmp_path):
    faulty = competition("competition.toml", 'type = "integer" ', 'kind = "integer" ')
    with pytest.raises(CompetitionError, match="kind"):
        twin(faulty, tmp_path)


def test_the_catalog():
    assert [c.id for c in catalog.split("lite")] == [c.id for c in catalog.split("low")]
    assert {c.complexity for c in catalog.split("all")} == {"low", "medium", "high"}
    with pytest.raises(UsageError, match="no folder"):
        catalog.competitions((TEMPLATE / "nowhere",))
    with pytest.raises(UsageError, match="no split"):
        catalog.split("light")


def test_ids_from_a_file(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("# mine\nspaceship-titanic\n\nleaf-classification  # pictures\n")
    assert [c.id for c in catalog.from_file(path)] == ["spaceship-titanic", "leaf-classification"]
