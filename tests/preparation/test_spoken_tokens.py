"""Tokens and their spoken forms: parts are written as one, and edition v2 loses no token and keeps sentences apart."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from mlebench.preparation import parts
from mlebench.preparation.spoken_tokens import divide, prepare_v1, prepare_v2, without_sentences_of, write_raw


@pytest.fixture
def raw(tmp_path):
    """Forty sentences with gaps in their numbers; every fourth is the same, and some tokens spell a missing value."""
    rows = []
    for number in range(40):
        words = ["NA", 'say "null"', "007", "."] if number % 4 == 0 else [f"word{number}", "nan", "1", "."]
        rows += [(3 * number + 5, place, "PLAIN", word, word.lower()) for place, word in enumerate(words)]
    table = pd.DataFrame(rows, columns=["sentence_id", "token_id", "class", "before", "after"])
    (tmp_path / "raw").mkdir()
    write_raw(tmp_path / "raw", table, table.iloc[:8], "en")
    return tmp_path / "raw"


def written(raw, *, verbatim):
    public, private = (raw.with_name(f"{side}{verbatim}") for side in ("public", "private"))
    for folder in (public, private):
        folder.mkdir(exist_ok=True)
    (prepare_v2 if verbatim else prepare_v1)(raw, public, private, "en")
    return public, private


def member(archive):
    with zipfile.ZipFile(archive) as opened:
        (name,) = opened.namelist()
        return opened.read(name).decode(), opened.getinfo(name).compress_type


def table(text):
    return pd.read_csv(io.StringIO(text), dtype={"before": str, "after": str}, keep_default_na=False)


def test_v1_loses_words_for_missing_values_and_v2_does_not(raw):
    (public, private), (public_v2, private_v2) = written(raw, verbatim=False), written(raw, verbatim=True)
    lost, kept = (table((folder / "answers.csv").read_text()) for folder in (private, private_v2))
    assert lost["id"].tolist() == kept["id"].tolist()
    is_lost = kept["after"].isin(["na", "nan", "null"]) & (lost["after"] == "")
    assert is_lost.any()
    assert (is_lost | (lost["after"] == kept["after"])).all()
    assert member(public / "en_train.csv.zip")[1] == zipfile.ZIP_STORED
    assert member(public_v2 / "en_train.csv.zip")[1] == zipfile.ZIP_DEFLATED
    assert (private / "sample_submission.csv").read_text() == member(public / "en_sample_submission_2.csv.zip")[0]


def test_no_sentence_of_the_test_is_in_the_training_part_of_v2(raw):
    for verbatim, shared in ((False, True), (True, False)):
        public, _ = written(raw, verbatim=verbatim)
        train, test = (
            table(member(public / f"en_{name}.csv.zip")[0]).groupby("sentence_id")["before"].agg(tuple)
            for name in ("train", "test_2")
        )
        assert bool(set(train) & set(test)) == shared
        assert len(test) == 4
        assert train.index.tolist() == list(range(len(train)))


def test_parts_are_written_as_one(raw, monkeypatch):
    public, _ = written(raw, verbatim=False)
    whole = member(public / "en_train.csv.zip")
    monkeypatch.setattr(parts, "ROWS", 7)
    public, _ = written(raw, verbatim=False)
    assert member(public / "en_train.csv.zip") == whole


def test_sentences_whose_rows_do_not_stand_together(raw):
    tokens = pd.read_csv(raw / "en_train.csv.zip", dtype={"before": str, "after": str}, keep_default_na=False)
    train, test = divide(tokens["sentence_id"])
    order = np.random.default_rng(0).permutation(len(tokens)).argsort(kind="stable")
    by_place = tokens.iloc[order].sort_values("token_id", kind="stable").reset_index(drop=True)
    numbers = tokens["sentence_id"].to_numpy()
    mixed = by_place["sentence_id"].to_numpy()
    train_mixed, test_mixed = (np.flatnonzero(np.isin(mixed, numbers[rows])) for rows in (train, test))
    expected = set(numbers[without_sentences_of(train, test, tokens)])
    assert set(mixed[without_sentences_of(train_mixed, test_mixed, by_place)]) == expected
