"""Training rows held back: on which competitions, what agents see of them, and that nothing else tells their labels."""

import json
import shutil

import pandas as pd
import pytest

from mlebench import catalog
from mlebench.cli import main
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.report import render_terminal, write_html
from mlebench.runs.hidden_validation import FOLDER, NotPossible, changed_files, hold_back, hold_back_all
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, read_config
from mlebench.runs.verification import verify_run
from mlebench.sandbox import find_sandbox
from mlebench.tables import read_csv

needs_sandbox = pytest.mark.skipif(
    find_sandbox("bubblewrap").unavailable() is not None, reason="bubblewrap can't be used here"
)
POSSIBLE = (  # by the form of what makes it so
    "spaceship-titanic",  # the answers' columns stand in the training table
    "spooky-author-identification",  # a column of labels becomes one column a class
    "aerial-cactus-identification",  # the ids name files in archives
    "histopathologic-cancer-detection",  # and in folders
    "nomad2018-predict-transparent-conductors",  # numbers are ids of training rows and of test rows
    "google-quest-challenge",  # no constant sample is valid
)
IMPOSSIBLE = {
    "plant-seedlings-classification": "no public table",  # labels are names of folders
    "paddy-disease-classification": "no test row has a file of that form",
    "cassava-leaf-disease-classification": "holds many rows in a form that is not looked into",
    "ranzcr-clip-catheter-line-classification": "train_annotations.csv has rows with the same StudyInstanceUID",
    "champs-scalar-coupling": "has the column molecule_name, as the training table has",
    "statoil-iceberg-classifier-challenge": "its sample submission is packed",
    "uw-madison-gi-tract-image-segmentation": "one id stands for several rows",
    "tensorflow2-question-answering": "its answers are no table",
}


def texts(path):
    return read_csv(path, dtype=str, keep_default_na=False)


@pytest.fixture
def own(twins, tmp_path):
    """A copy of a twin whose public files can be added to."""
    shutil.copytree(twins("spaceship-titanic").home, tmp_path / "data" / "spaceship-titanic")
    return Dataset(catalog.get("spaceship-titanic"), tmp_path / "data")


@pytest.mark.parametrize("competition_id", POSSIBLE)
def test_what_is_held_back(competition_id, twins, tmp_path):
    dataset = twins(competition_id)
    held_back = hold_back(tmp_path, dataset, 0.2)
    facts = json.loads(held_back.facts_path.read_text())
    files = held_back.home_files
    whole = texts(dataset.public / facts["table"])
    stays, rows = texts(files[f"data/{facts['table']}"]), texts(files["held_back"] / "rows.csv")
    row_id = dataset.competition.schema.id
    assert len(stays) + len(rows) == len(whole)
    assert len(rows) == facts["held_back_rows"] == -(-len(whole) // 5)
    assert not set(stays[row_id]) & set(rows[row_id])
    assert set(stays[row_id]) | set(rows[row_id]) == set(whole[row_id])
    assert list(texts(held_back.dataset.private / dataset.competition.answers_file)[row_id]) == list(rows[row_id])
    pd.testing.assert_frame_equal(stays, whole[whole[row_id].isin(stays[row_id])].reset_index(drop=True))
    assert not set(rows.columns) & set(dataset.competition.schema.names[1:])
    test = dataset.public / "test.csv"
    assert list(rows.columns) == (list(read_csv(test, nrows=0).columns) if test.is_file() else [row_id])
    assert list(texts(files["held_back"] / "sample_submission.csv")[row_id]) == list(rows[row_id])
    assert list(read_csv(held_back.dataset.private / dataset.competition.answers_file, nrows=0).columns) == list(
        read_csv(dataset.private / dataset.competition.answers_file, nrows=0).columns
    )


@pytest.mark.parametrize("competition_id", IMPOSSIBLE)
def test_where_nothing_can_be_held_back(competition_id, twins, tmp_path):
    with pytest.raises(NotPossible, match=IMPOSSIBLE[competition_id]):
        hold_back(tmp_path, twins(competition_id), 0.2)
    assert not (tmp_path / FOLDER / competition_id).exists()


def test_rows_that_the_test_keeps_together_stay_together(twins, tmp_path):
    held_back = hold_back(tmp_path, twins("ventilator-pressure-prediction"), 0.2)
    facts = json.loads(held_back.facts_path.read_text())
    assert facts["kept_together_by"] == "breath_id"
    files = held_back.home_files
    stays, rows = read_csv(files["data/train.csv"]), read_csv(files["held_back"] / "rows.csv")
    assert not set(stays["breath_id"]) & set(rows["breath_id"])
    assert all(steps.is_monotonic_increasing for _, steps in rows.groupby("breath_id")["time_step"])


def test_the_order_of_the_rows_tells_nothing(own, tmp_path):
    train = texts(own.public / "train.csv").sort_values("Transported", kind="stable")
    train.to_csv(own.public / "train.csv", index=False)
    rows = texts(hold_back(tmp_path / "run", own, 0.5).home_files["held_back"] / "rows.csv")
    labels = rows["PassengerId"].map(dict(zip(train["PassengerId"], train["Transported"], strict=True)))
    changes = (labels != labels.shift()).sum()
    assert changes > len(labels) / 4


def test_the_same_rows_every_time(twins, tmp_path):
    first, second = (hold_back(tmp_path / name, twins("spaceship-titanic"), 0.2) for name in "ab")
    assert first.facts_path.read_bytes() == second.facts_path.read_bytes()
    before = first.facts_path.stat().st_mtime_ns
    assert hold_back(tmp_path / "a", twins("spaceship-titanic"), 0.2).facts_path.stat().st_mtime_ns == before
    assert not changed_files(first.folder)
    (first.folder / "scoring" / "private" / "test.csv").write_text("")
    assert changed_files(first.folder) == ["scoring/private/test.csv"]


# --- other files that might tell the labels


def add(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("train_extra.csv", "PassengerId,Fate\n{id},lost\n", "has rows with the same PassengerId"),
        ("more.csv", "passenger,Fate\n{id},lost\n", "more.csv speaks of the same rows"),
        ("cabins.csv", "Cabin,Fate\nB/0/P,lost\n", "has the column Cabin, as the training table has"),
        ("notes.json", '{{"{id}": "lost"}}', "notes.json speaks of the same rows"),
        ("test/notes.txt", "{id} lost", "notes.txt speaks of the same rows"),
        ("train/lost/{id}.png", "", "no test row has a file of that form"),
        ("train/{id}_mask.png", "", "no test row has a file of that form"),
        ("masks/1.png", "", "has no counterpart among the test's"),
        ("train.tfrec", "", "in a form that is not looked into"),
        ("labels.csv", "PassengerId,Transported\n{id},True\n", "several public tables have labels"),
    ],
)
def test_files_that_might_tell_labels_are_named(own, tmp_path, name, content, reason):
    held_back = hold_back(tmp_path / "before", own, 0.2)
    row_id = texts(held_back.home_files["held_back"] / "rows.csv")["PassengerId"][0]
    add(own.public / name.format(id=row_id), content.format(id=row_id))
    with pytest.raises(NotPossible, match=reason):
        hold_back(tmp_path / "after", own, 0.2)


def test_files_that_tell_nothing_are_no_obstacle(own, tmp_path):
    train, test = (texts(own.public / f"{name}.csv")["PassengerId"] for name in ("train", "test"))
    for row_id in train:
        add(own.public / "train" / f"{row_id}.png", "")
    for row_id in test:
        add(own.public / "test" / f"{row_id}.png", "")
    add(own.public / "planets.csv", "planet,mass\nEarth,1\n")
    everybody = pd.DataFrame({"PassengerId": pd.concat([train, test]), "height": 1})
    everybody.to_csv(own.public / "heights.csv", index=False)
    assert hold_back(tmp_path / "after", own, 0.2)


def test_another_row_s_file_is_its_own_affair(own, tmp_path):
    rows = texts(hold_back(tmp_path / "before", own, 0.2).home_files["held_back"] / "rows.csv")
    stays = set(texts(own.public / "train.csv")["PassengerId"]) - set(rows["PassengerId"])
    add(own.public / "train" / "lost" / f"{min(stays)}.png", "")
    assert hold_back(tmp_path / "after", own, 0.2)


# --- runs


def test_all_competitions_where_it_is_not_possible_are_named_at_once(twins, tmp_path):
    datasets = [twins(name) for name in ("spaceship-titanic", *list(IMPOSSIBLE)[:2])]
    with pytest.raises(UsageError, match="not possible on 2 of 3 competitions") as error:
        hold_back_all(tmp_path, datasets, 0.2)
    assert all(name in str(error.value) for name in list(IMPOSSIBLE)[:2])
    assert "spaceship" not in str(error.value)
    assert not (tmp_path / FOLDER).exists()


def test_a_share_too_small_for_any_rows(twins, tmp_path):
    with pytest.raises(UsageError, match="only 1 of 540 training rows"):
        hold_back_all(tmp_path, [twins("spaceship-titanic")], 0.001)
    with pytest.raises(UsageError, match="such as 0"):
        hold_back_all(tmp_path, [twins("spaceship-titanic")], 1.2)


AGENT = """
import json, os, shutil, urllib.error, urllib.request
data, held_back = os.environ["DATA_DIR"], os.environ["HELD_BACK_DIR"]

def ask(path):
    request = urllib.request.Request(os.environ["SCORE_URL"], open(path, "rb").read(), {"Content-Type": "text/csv"})
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return {"status": error.code, **json.load(error)}

shutil.copy(data + "/sample_submission.csv", os.environ["SUBMISSION_DIR"] + "/submission.csv")
shutil.copy(data + "/train.csv", "seen_train.csv")
found = [os.path.join(at, name) for at, _, names in os.walk("/home") for name in names]
answers = [ask(held_back + "/sample_submission.csv") for _ in range(4)]
try:
    open(data + "/train.csv", "a")
except OSError as error:
    answers.append(str(error))
print(json.dumps([answers, found, os.path.exists(%r)]))
"""


@needs_sandbox
def test_an_agent_asks_for_scores(tmp_path):
    dataset = Dataset(catalog.get("spaceship-titanic"), tmp_path / "data")
    prepare(dataset, Synthetic(rows=200))
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.toml").write_text('title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\n')
    (agent / "main.py").write_text(AGENT % str(tmp_path / "r" / FOLDER))
    run, _ = plan_run(
        agent=str(agent),
        competitions=[dataset.competition],
        data_dir=dataset.data_dir,
        runs_dir=tmp_path,
        time_limit_seconds=60,
        sandbox="bubblewrap",
        name="r",
        hidden_validation=0.2,
        scores_per_hour=3,
    )
    assert execute(run, lambda _: None)
    attempt = AttemptFolder(run, "spaceship-titanic", 0)
    assert attempt.state().end == "completed", (attempt.path / "output.txt").read_text()
    answers, found, reached = json.loads((attempt.path / "output.txt").read_text())

    whole = texts(dataset.public / "train.csv")
    rows = texts(run / FOLDER / "spaceship-titanic" / "shown" / "held_back" / "rows.csv")
    labels = whole[whole["PassengerId"].isin(rows["PassengerId"])]["Transported"]
    expected = round((labels == "False").mean(), 5)
    assert [answer["score"] for answer in answers[:3]] == [expected] * 3
    assert [answer["left"] for answer in answers[:3]] == [2, 1, 0]
    assert answers[3]["status"] == 429
    assert 3500 < answers[3]["wait_seconds"] <= 3600
    assert "/home/data/train.csv" in answers[4]  # and why it can't be written to
    assert attempt.state().scores_asked == 3
    assert len((attempt.path / "scores.jsonl").read_text().splitlines()) == 4

    seen = texts(attempt.path / "code" / "seen_train.csv")
    assert len(seen) + len(rows) == len(whole)
    assert not set(seen["PassengerId"]) & set(rows["PassengerId"])
    assert not reached
    assert {"/home/held_back/rows.csv", "/home/held_back/sample_submission.csv"} <= set(found)
    assert not [path for path in found if "private" in path or "scoring" in path or "answers" in path]

    told = (attempt.path / "instructions.txt").read_text()
    assert "http://localhost:5000/score" in told
    assert "3 times in any hour" in told
    config = read_config(run)
    assert (config.hidden_validation, config.scores_per_hour) == (0.2, 3)
    shown_in_reports_and_verified(run)


def shown_in_reports_and_verified(run):
    from rich.console import Console

    mark = "scores on 20 % of the training rows, held back: 3 an hour"
    assert mark in write_html(run, run / "report.html").read_text()
    console = Console(record=True, width=200)
    render_terminal(run, console)
    assert mark in console.export_text()
    assert verify_run(run).complete
    answers = run / FOLDER / "spaceship-titanic" / "scoring" / "private" / "test.csv"
    answers.write_text(answers.read_text().replace("True", "False"))
    (problem,) = verify_run(run).problems
    assert problem.where == f"{FOLDER}/spaceship-titanic/scoring/private/test.csv"


def test_without_a_sandbox_nothing_can_be_held_back(twins, tmp_path):
    dataset = twins("spaceship-titanic")
    with pytest.raises(UsageError, match="--hidden-validation needs one"):
        plan_run(
            agent="sample",
            competitions=[dataset.competition],
            data_dir=dataset.data_dir,
            runs_dir=tmp_path,
            sandbox="none",
            hidden_validation=0.2,
        )


@needs_sandbox
def test_lost_rows_are_held_back_again_and_changed_ones_refused(twins, tmp_path):
    dataset = twins("spaceship-titanic")
    run, _ = plan_run(
        agent="sample",
        competitions=[dataset.competition],
        data_dir=dataset.data_dir,
        runs_dir=tmp_path,
        time_limit_seconds=60,
        sandbox="bubblewrap",
        name="r",
        hidden_validation=0.2,
    )
    table = run / FOLDER / "spaceship-titanic" / "shown" / "train.csv"
    table.write_text((dataset.public / "train.csv").read_text())
    attempt = AttemptFolder(run, "spaceship-titanic", 0)
    assert not execute(run, lambda _: None)
    assert attempt.state().end == "sandbox-error"
    assert "not those that run.json names" in attempt.state().message
    shutil.rmtree(run / FOLDER)
    assert execute(run, lambda _: None)
    assert attempt.state().end == "completed"
    assert verify_run(run).complete


@needs_sandbox
def test_the_command(twins, tmp_path):
    from click.testing import CliRunner

    for competition_id, code in (("spaceship-titanic", 0), ("plant-seedlings-classification", 2)):
        dataset = twins(competition_id)
        arguments = ["run", "--agent", "sample", "-c", competition_id, "--time-limit", "1m", "--name", competition_id]
        arguments += ["--hidden-validation", "0.2", "--runs-dir", str(tmp_path), "--data-dir", str(dataset.data_dir)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
    assert "leave these out:\n  plant-seedlings-classification: no public table" in result.output
    assert not (tmp_path / "plant-seedlings-classification" / "run.json").exists()
    assert read_config(tmp_path / "spaceship-titanic").scores_per_hour == 4
