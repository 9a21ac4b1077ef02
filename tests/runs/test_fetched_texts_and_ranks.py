"""Runs beside what was fetched from Kaggle: the original description, and exact ranks."""

import json
import shutil

import pytest

from kaggle_stand_in import StandIn
from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.kept import sha256
from mlebench.preparation.kaggle.leaderboards import fetch_leaderboard
from mlebench.preparation.kaggle.notebooks import fetch_notebooks
from mlebench.preparation.kaggle.pages import fetch_pages, original_description
from mlebench.preparation.sources import Synthetic
from mlebench.preparation.verification import verify
from mlebench.report.html import disclosure
from mlebench.report.results import read_run
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, read_config
from mlebench.runs.verification import verify_run
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
NAME = "spaceship-titanic"
COPY = "shutil.copy(DATA + '/sample_submission.csv', OUT)\n"
FETCHED = ("leaderboard.csv", "pages.json", "notebooks.json", "ann__best.py")


def look(home):
    """An agent that prints what it is told, and which of the fetched files it can see."""
    return COPY + (
        "print(open(DATA + '/description.md').read(), open(os.environ['PROMPT_FILE']).read())\n"
        f"walks = [*os.walk('/home'), *os.walk({str(home)!r})]\n"
        f"print('FOUND', [name for _, _, names in walks for name in names if name in {FETCHED}])\n"
    )


@pytest.fixture
def fetched(tmp_path):
    """A prepared twin with everything that can be fetched beside it."""
    dataset = Dataset(catalog.get(NAME), tmp_path / "data")
    prepare(dataset, Synthetic(rows=60))
    board = dataset.competition.leaderboard
    pages = {"description": "Who was transported? (as the host put it)", "evaluation": "Accuracy."}
    with StandIn() as kaggle, Client(kaggle.credentials, kaggle.url) as client:
        standings = [(f"team {place}", repr(score)) for place, score in enumerate(board.expanded(), 1)]
        kaggle.add(NAME, b"", pages=pages, standings=standings, notebooks={"ann/best": "print(1)"})
        fetch_leaderboard(client, dataset)
        fetch_pages(client, dataset)
        fetch_notebooks(client, dataset, 5)
    return dataset


@pytest.fixture
def run(tmp_path):
    def start(agent, dataset, **options):
        settings = {"time_limit_seconds": 60, "sandbox": SANDBOX, "name": "r", **options}
        folder, _ = plan_run(
            agent=agent, competitions=[dataset.competition], data_dir=dataset.data_dir, runs_dir=tmp_path, **settings
        )
        execute(folder, lambda _: None)
        return folder

    return start


def output(run):
    return (AttemptFolder(run, NAME, 0).path / "output.txt").read_text()


def facts(run):
    return {fact.name: fact.value for fact in disclosure(read_run(run))}


def grades(findings):
    return [each for each in findings if each.kind == "grades"]


def test_what_was_fetched_is_no_part_of_the_data(fetched):
    assert verify(fetched) == []
    prepare(fetched, Synthetic(rows=60), force=True)
    assert set(FETCHED) < {path.name for path in fetched.home.rglob("*")}


@pytest.mark.skipif(SANDBOX == "none", reason="there is no sandbox here")
def test_agents_read_the_original_description_and_nothing_else_of_it(agent, run, fetched):
    folder = run(agent(look(fetched.home)), fetched, original_description=True)
    told = output(folder)
    assert told.count("as the host put it") == 2  # the file and the prompt
    assert fetched.competition.description.splitlines()[0] not in told
    assert "FOUND []" in told
    expected = sha256(original_description(fetched))
    assert read_config(folder).original_descriptions == {NAME: expected}
    attempt = AttemptFolder(folder, NAME, 0)
    assert attempt.state().seal["records"]["description.md"] == expected
    assert facts(folder)["description"] == "original"
    assert "as the host put it" not in output(run(agent(look(fetched.home)), fetched, name="named"))


@pytest.mark.skipif(SANDBOX == "none", reason="there is no sandbox here")
def test_another_text_than_the_planned_one_is_a_fault_of_ours(agent, tmp_path, fetched):
    folder, _ = plan_run(
        agent=agent(COPY), competitions=[fetched.competition], data_dir=fetched.data_dir, runs_dir=tmp_path,
        sandbox=SANDBOX, original_description=True,
    )  # fmt: skip
    record = json.loads((fetched.home / "pages" / "pages.json").read_text())
    (fetched.home / "pages" / "evaluation.md").write_text("Another metric.")
    record["pages"][1]["sha256"] = sha256("Another metric.")
    (fetched.home / "pages" / "pages.json").write_text(json.dumps(record))
    execute(folder, lambda _: None)
    state = AttemptFolder(folder, NAME, 0).state()
    assert (state.end, "not those that run.json names" in state.message) == ("sandbox-error", True)


def test_when_the_original_description_can_not_be_had(agent, run, fetched):
    with pytest.raises(UsageError, match="without a sandbox"):
        run(agent(COPY), fetched, original_description=True, sandbox="none")
    if SANDBOX != "none":
        with pytest.raises(UsageError, match="it names the competition"):
            run(agent(COPY), fetched, original_description=True, obfuscated=True)
        shutil.rmtree(fetched.home / "pages")
        with pytest.raises(NotPreparedError, match="--pages"):
            run(agent(COPY), fetched, original_description=True)


def test_a_run_says_by_which_leaderboard_its_ranks_are(agent, run, fetched):
    folder = run(agent(COPY), fetched)
    grade = json.loads(AttemptFolder(folder, NAME, 0).grade_path.read_text())
    md5 = fetched.leaderboard.md5
    assert (grade["rank_kind"], grade["leaderboard_md5"]) == ("exact", md5)
    assert read_config(folder).leaderboards == {NAME: md5}
    assert facts(folder)["ranks"] == "exact"
    assert read_run(folder).leaderboard(NAME).is_exact
    assert grades(verify_run(folder, regrade=True).warnings) == []

    fetched.leaderboard_path.rename(fetched.home / "elsewhere")  # as on another machine
    assert not read_run(folder).leaderboard(NAME).is_exact
    result = verify_run(folder, regrade=True)
    assert result.complete
    (warning,) = grades(result.warnings)
    assert "mlebench leaderboard spaceship-titanic --fetch" in warning.message
    assert (warning.expected, warning.found) == ("none", md5)
