"""What is peculiar to the insults: texts as ids, some of which repeat; and what edition v2 does about it."""

import re

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.metrics.classification import roc_auc_score
from mlebench.tables import read_csv

ID = "detecting-insults-in-social-commentary"


def letters(comments):
    return {re.sub(r"[^a-z0-9]", "", comment.lower()) for comment in comments}


def test_the_twin_has_what_the_real_data_have(twins):
    public = twins(ID).public
    train, test = read_csv(public / "train.csv")["Comment"], read_csv(public / "test.csv")["Comment"]
    assert test.duplicated().any()
    assert not train.isin(test).any()
    assert letters(train) & letters(test)


def test_v2_has_no_training_comment_that_is_nearly_a_test_comment(twins):
    public = twins(ID, "v2").public
    train, test = read_csv(public / "train.csv")["Comment"], read_csv(public / "test.csv")["Comment"]
    assert not letters(train) & letters(test)
    assert 0.95 * len(read_csv(twins(ID).public / "train.csv")) < len(train)


@pytest.mark.parametrize("labels", [[1, 0, 1, 0], [0, 1, 1, 0]])
def test_equal_comments_are_paired_in_the_order_in_which_they_stand_if_there_are_few(labels):
    comments = ["twice", "b", "twice", "a"]
    answers = pd.DataFrame({"Comment": comments, "Insult": labels})
    submission = pd.DataFrame({"Comment": comments, "Insult": [0.9, 0.2, 0.1, 0.3]}).sample(frac=1, random_state=0)
    twice = submission[submission["Comment"] == "twice"]["Insult"].tolist()
    expected = roc_auc_score(np.array([labels[3], labels[1], labels[0], labels[2]]), np.array([0.3, 0.2, *twice]))
    assert catalog.get(ID).score(submission, answers) == expected


def test_a_comment_on_both_sides_is_refused(tmp_path):
    comments = pd.DataFrame({"Insult": [1, 0], "Date": "", "Comment": ['"a"', '"b"']})
    comments.to_csv(tmp_path / "train.csv", index=False)
    comments.iloc[:1].assign(Usage="PublicTest").to_csv(tmp_path / "test_with_solutions.csv", index=False)
    with pytest.raises(PreparationError, match="1 comments stand in"):
        catalog.get(ID).prepare(tmp_path, tmp_path / "public", tmp_path / "private")


def test_dates_that_look_like_numbers_are_written_as_pandas_reads_them(tmp_path):
    comments = pd.DataFrame({"Insult": [1, 0], "Date": ["20120618", ""], "Comment": ['"a"', '"b"']})
    comments.assign(Comment=['"c"', '"d"']).to_csv(tmp_path / "train.csv", index=False)
    comments.assign(Usage="PublicTest").to_csv(tmp_path / "test_with_solutions.csv", index=False)
    catalog.get(ID).prepare(tmp_path, tmp_path / "public", tmp_path / "private")
    dates = pd.read_csv(tmp_path / "public" / "test.csv", dtype=str, keep_default_na=False)["Date"]
    assert dates.tolist() == ["20120618.0", ""]
