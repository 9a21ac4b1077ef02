"""Scores on rows held back: how many in an hour, what is recorded, what costs none."""

import json
import os
from pathlib import Path

import httpx
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import MlebenchError
from mlebench.runs.hidden_validation import hold_back
from mlebench.services import validation
from mlebench.services.scoring import HOUR, Scorer, scores_asked
from mlebench.services.serving import serve

ID = "spaceship-titanic"


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def held_back(twins, tmp_path_factory):
    return hold_back(tmp_path_factory.mktemp("run"), twins(ID), 0.2)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "scores.jsonl"


@pytest.fixture
def client(held_back, twins, tmp_path, clock, log):
    socket = Path("/tmp") / f"mlebench-{os.getpid()}-{tmp_path.name[-8:]}.sock"
    scorer = Scorer(held_back.dataset, 4, log, clock)
    app = validation.make_app(catalog.get(ID), twins(ID).public, scorer=scorer, max_bytes=1 << 20)
    transport = httpx.HTTPTransport(uds=str(socket))
    with serve(app, socket), httpx.Client(transport=transport, base_url="http://localhost:5000") as client:
        yield client


@pytest.fixture
def sample(held_back):
    return (held_back.home_files["held_back"] / "sample_submission.csv").read_bytes()


def answers(held_back):
    return pd.read_csv(held_back.folder / "scoring" / "private" / "test.csv")


def entries(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_score_is_the_metric_on_the_rows_held_back(client, held_back, sample, log):
    truth = answers(held_back)
    expected = round((truth["Transported"] == False).mean(), 5)  # noqa: E712 - the sample says False throughout
    answer = client.post("/score", files={"file": sample})
    assert answer.status_code == 200
    assert answer.json() == {"score": expected, "message": "ok", "left": 3}
    (entry,) = entries(log)
    assert entry.pop("time").endswith("+00:00")
    assert entry == {"bytes": len(sample), "score": expected}
    perfect = truth[["PassengerId", "Transported"]].to_csv(index=False).encode()
    assert client.post("/score", content=perfect, headers={"Content-Type": "text/csv"}).json()["score"] == 1.0


def test_so_many_scores_in_any_hour(client, sample, clock, log):
    for minutes in (0, 10, 20, 30):
        clock.now = 1000.0 + 60 * minutes
        assert client.post("/score", files={"file": sample}).status_code == 200
    clock.now += 60
    refused = client.post("/score", files={"file": sample})
    assert refused.status_code == 429
    assert refused.json()["wait_seconds"] == 29 * 60 == int(refused.headers["Retry-After"])
    assert refused.json()["error"] == "4 scores an hour are all there are; the next one in 29 min"
    assert "score" not in refused.json()
    clock.now = 1000.0 + HOUR - 1
    assert client.post("/score", files={"file": sample}).status_code == 429
    clock.now += 1
    assert client.post("/score", files={"file": sample}).json()["left"] == 0
    assert client.post("/score", files={"file": sample}).status_code == 429
    assert [next(iter(entry.keys() - {"time", "bytes"})) for entry in entries(log)] == [
        *["score"] * 4,
        *["refused_for_seconds"] * 2,
        "score",
        "refused_for_seconds",
    ]
    assert scores_asked(log) == 5


def test_what_is_invalid_gets_reasons_and_costs_nothing(client, sample, log):
    for _ in range(6):
        answer = client.post("/score", files={"file": b"PassengerId,Transported\n0000_00,True\n"}).json()
        assert answer["score"] is None
        assert answer["left"] == 4
        assert "Submission is invalid" in answer["message"]
    assert client.post("/score", files={"file": sample}).json()["left"] == 3
    assert entries(log)[0]["invalid"]
    assert scores_asked(log) == 1


def test_a_submission_for_the_test_rows_is_not_one_for_these(client, twins):
    wrong = (twins(ID).public / "sample_submission.csv").read_bytes()
    answer = client.post("/score", files={"file": wrong}).json()
    assert answer["score"] is None
    assert answer["left"] == 4


def test_a_fault_that_only_labels_show_costs_a_score(twins, tmp_path):
    """A correlation is undefined for predictions that are all the same: only grading finds that."""
    held_back = hold_back(tmp_path, twins("us-patent-phrase-to-phrase-matching"), 0.2)
    scorer = Scorer(held_back.dataset, 2, tmp_path / "log")
    answer = scorer.judge(held_back.home_files["held_back"] / "sample_submission.csv")
    assert (answer.status, answer.score, answer.left) == (200, None, 1)
    assert "undefined" in answer.message
    assert scores_asked(tmp_path / "log") == 1


def test_a_grader_that_fails_costs_a_score(twins, tmp_path):
    """Else an agent could ask as often as it likes which predictions make it fail."""
    held_back = hold_back(tmp_path, twins(ID), 0.2)
    scorer = Scorer(held_back.dataset, 1, tmp_path / "log")
    sample = held_back.home_files["held_back"] / "sample_submission.csv"
    (held_back.folder / "scoring" / "private" / "test.csv").unlink()
    with pytest.raises(MlebenchError):
        scorer.judge(sample)
    assert scorer.judge(sample).status == 429
    assert scores_asked(tmp_path / "log") == 1


def test_without_rows_held_back_there_are_no_scores(twins, tmp_path, sample):
    socket = Path("/tmp") / f"mlebench-{os.getpid()}-{tmp_path.name[-8:]}.sock"
    app = validation.make_app(catalog.get(ID), twins(ID).public)
    transport = httpx.HTTPTransport(uds=str(socket))
    with serve(app, socket), httpx.Client(transport=transport, base_url="http://localhost:5000") as client:
        answer = client.post("/score", files={"file": sample})
        assert answer.status_code == 404
        assert "no training rows were held back" in answer.json()["error"]


def test_uploads_are_bounded_here_too(client):
    assert client.post("/score", files={"file": b"x" * (2 << 20)}).status_code == 413
    assert client.post("/score", content=b"x").status_code == 400
    assert client.get("/score").status_code == 405
