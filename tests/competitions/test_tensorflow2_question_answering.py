"""Natural questions: blocks of a thousand lines, each divided by itself; and scores by their definitions."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from mlebench import catalog
from mlebench.errors import PreparationError

COMPETITION = catalog.get("tensorflow2-question-answering")
NAME = "simplified-nq-train.jsonl"


def sample(number, short=(), long=None, yes_no="NONE"):
    span = {"start_token": -1, "candidate_index": -1, "end_token": -1}
    if long:
        span = {"start_token": long[0], "candidate_index": 0, "end_token": long[1]}
    annotation = {
        "yes_no_answer": yes_no,
        "long_answer": span,
        "short_answers": [{"start_token": start, "end_token": end} for start, end in short],
        "annotation_id": 2**64 - 1,
    }
    return {
        "document_text": 'say "annotations": [] and "example_id":"1" \\ / \u00e9\u2028',
        "long_answer_candidates": [],
        "question_text": "annotations",
        "annotations": [annotation],
        "document_url": "https://x",
        "example_id": number,
    }


@pytest.fixture
def folders(tmp_path):
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    for folder in (raw, public, private):
        folder.mkdir()
    return raw, public, private


def prepare(folders, samples):
    raw, public, private = folders
    (raw / NAME).write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in samples), encoding="utf-8")
    COMPETITION.prepare(raw=raw, public=public, private=private)
    return public, private


def ids(path):
    return [json.loads(line)["example_id"] for line in path.read_bytes().split(b"\n")[:-1]]


@pytest.mark.parametrize("count", [20, 1000, 2005])
def test_each_thousand_lines_are_divided_by_themselves(folders, count):
    numbers = [number * 7 - 2**62 for number in range(count)]
    public, private = prepare(folders, map(sample, numbers))
    blocks = [numbers[start : start + 1000] for start in range(0, count, 1000)]
    parts = [train_test_split(block, test_size=0.1, random_state=0) for block in blocks]
    assert ids(public / NAME) == [str(number) for train, _ in parts for number in train]
    assert ids(private / "test.jsonl") == [str(number) for _, test in parts for number in test]
    assert ids(public / "simplified-nq-test.jsonl") == ids(private / "test.jsonl")


@pytest.mark.parametrize(
    "text", ["a\x7fb", "\x7f\x7f", r"\u007f", "\\\x7f/", "\x00\x1f\x7e\x80", "<&>'\u2028\U0001f600"]
)
def test_lines_are_those_of_pandas(folders, text):
    samples = [{**sample(number), "question_text": text, "document_url": text} for number in range(11)]
    public, _ = prepare(folders, samples)
    kept = [each["example_id"] for each in map(json.loads, (public / NAME).read_text().splitlines())]
    expected = pd.DataFrame([{**samples[0], "example_id": name} for name in kept])
    assert (public / NAME).read_text() == expected.to_json(orient="records", lines=True)


@pytest.mark.parametrize(
    "samples",
    [
        [sample(number) for number in range(1001)],  # a block of one line
        [sample(str(number)) for number in range(20)],
        [{**sample(number), "annotations": []} for number in range(20)],
    ],
)
def test_what_can_not_be_divided(folders, samples):
    with pytest.raises(PreparationError):
        prepare(folders, samples)


SPANS = st.tuples(st.integers(0, 2), st.integers(1, 3))
SAMPLES = st.builds(
    sample, st.just(0), st.lists(SPANS, max_size=2), st.none() | SPANS, st.sampled_from(["NONE", "YES", "NO"])
)
PREDICTIONS = st.sampled_from(["", " ", "0:1", "1:2", " 02 : +3", "YES", "NO"])


@given(st.lists(st.tuples(SAMPLES, PREDICTIONS, PREDICTIONS), min_size=1, max_size=8))
def test_scores_by_their_definitions(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("answers") / "test.jsonl"
    numbered = [{**each, "example_id": str(place)} for place, (each, _, _) in enumerate(rows)]
    path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in numbered))
    predictions = {(place, kind): row[i] for place, row in enumerate(rows) for i, kind in ((1, "short"), (2, "long"))}
    table = pd.DataFrame(
        [(f"{place}_{kind}", text) for (place, kind), text in predictions.items()],
        columns=["example_id", "PredictionString"],
    )
    truths = {key: valid_answers(rows[key[0]][0]["annotations"][0], key[1]) for key in predictions}
    guesses = {key: normal(text) for key, text in predictions.items()}
    predicted = np.array([int(guess != "") for guess in guesses.values()])
    true = np.array([int(guesses[key] in truths[key] if guesses[key] else bool(truths[key])) for key in predictions])
    answers = COMPETITION.read_answers(path.parent)
    assert COMPETITION.score(table, answers) == pytest.approx(f1_score(true, predicted, average="micro"))
    if (true | predicted).any():
        v2 = COMPETITION.in_edition("v2")
        assert v2.score(table, answers) == pytest.approx(f1_score(true, predicted))


def valid_answers(annotation, kind):
    if kind == "long":
        span = annotation["long_answer"]
        return set() if span["start_token"] == -1 else {(span["start_token"], span["end_token"])}
    spans = {(span["start_token"], span["end_token"]) for span in annotation["short_answers"]}
    return spans | ({annotation["yes_no_answer"]} - {"NONE"})


def normal(text):
    text = text.strip()
    return tuple(map(int, text.split(":"))) if ":" in text else text
