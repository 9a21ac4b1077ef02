"""What is peculiar to the ratings of questions and answers: a rare target, and questions with several answers."""

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.tables import read_csv

ID = "google-quest-challenge"
RARE = "question_type_spelling"


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw").mkdir()
    catalog.get(ID).make_raw(tmp_path / "raw", np.random.default_rng(3), 100)
    return tmp_path / "raw"


def prepared(raw, edition):
    public, private = raw.parent / f"public-{edition}", raw.parent / f"private-{edition}"
    catalog.get(ID).in_edition(edition).prepare(raw, public, private)
    return read_csv(public / "train.csv"), read_csv(public / "test.csv"), read_csv(private / "test.csv")


def with_rare_rows(raw, rows):
    pairs = read_csv(raw / "train.csv")
    pairs[RARE] = np.where(pairs.index.isin(rows), 1.0, 0.0)
    pairs.to_csv(raw / "train.csv", index=False)
    return pairs["qa_id"].to_numpy()


def test_where_the_rare_target_would_not_vary_one_row_is_exchanged(raw):
    order = np.random.RandomState(0).permutation(100)
    ids = with_rare_rows(raw, order[[30, 50]])
    train, test, answers = prepared(raw, "v1")
    expected = ids[order]
    expected[[0, 30]] = expected[[30, 0]]
    assert test["qa_id"].tolist() == answers["qa_id"].tolist() == expected[:10].tolist()
    assert train["qa_id"].tolist() == expected[10:].tolist()


def test_else_nothing_is_exchanged(raw):
    order = np.random.RandomState(0).permutation(100)
    ids = with_rare_rows(raw, order[[5, 50]])
    assert prepared(raw, "v1")[1]["qa_id"].tolist() == ids[order[:10]].tolist()


def test_a_target_that_never_varies_is_refused(raw):
    with_rare_rows(raw, [])
    for edition in ("v1", "v2"):
        with pytest.raises(PreparationError, match=RARE):
            prepared(raw, edition)


def test_v2_keeps_questions_together(raw):
    train, test, answers = prepared(raw, "v2")
    assert not set(train["url"]) & set(test["url"])
    assert (answers.drop(columns="qa_id").nunique() > 1).all()
    assert pd.concat([train["qa_id"], test["qa_id"]]).is_unique
    assert len(train) + len(test) == 100
    train, test, _ = prepared(raw, "v1")
    assert set(train["url"]) & set(test["url"])
