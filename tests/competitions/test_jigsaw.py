"""What is peculiar to the two contests on toxic comments: pairing by position, words such as null, thresholds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.tables import read_csv

TOXIC, BIAS = "jigsaw-toxic-comment-classification-challenge", "jigsaw-unintended-bias-in-toxicity-classification"
AS_TEXT = {"dtype": str, "keep_default_na": False}


@pytest.fixture
def score(tmp_path):
    def of(table, dataset):
        table.to_csv(tmp_path / "submission.csv", index=False)
        return score_submission(tmp_path / "submission.csv", dataset)

    return of


@pytest.fixture
def guess():
    """A submission of random numbers in the form of the sample submission."""

    def of(dataset):
        sample = pd.read_csv(dataset.sample_submission)
        values = np.random.default_rng(7).random((len(sample), sample.shape[1] - 1))
        return sample.assign(**dict(zip(sample.columns[1:], values.T, strict=True)))

    return of


def scored_answers(dataset):
    answers = read_csv(dataset.private / "test.csv").set_index("id").sort_index()
    return answers[answers.sum(axis=1) >= 0]


@pytest.mark.parametrize("edition", ["v1", "v2"])
def test_rows_that_are_not_scored_do_not_matter(edition, twins, score, guess):
    dataset = twins(TOXIC, edition)
    table, truth = guess(dataset), scored_answers(dataset)
    expected = roc_auc_score(truth, table.set_index("id").loc[truth.index], average="macro")
    assert 0 < len(truth) < len(table)
    assert score(table, dataset) == pytest.approx(expected, abs=1e-5)
    other = table.assign(toxic=table["toxic"].where(table["id"].isin(truth.index), -9))
    assert score(other, dataset) == score(table, dataset)


def test_columns_are_paired_by_position_in_v1_and_by_name_in_v2(twins, score, guess):
    for edition, same in (("v1", False), ("v2", True)):
        dataset = twins(TOXIC, edition)
        table = guess(dataset)
        assert (score(table, dataset) == score(table[table.columns[::-1]], dataset)) == same


def test_a_repeated_id_shifts_rows_in_v1_and_is_refused_in_v2(twins, score, guess):
    dataset = twins(TOXIC)
    table, truth = guess(dataset), scored_answers(dataset)
    first, last = truth.index[0], truth.index[-1]
    table.loc[table["id"] == first, "id"] = last
    kept = table[table["id"].isin(truth.index)].sort_values("id").drop(columns="id")
    other = kept.iloc[[*range(len(kept) - 2), -1, -2]]  # either of the two rows with one id may come first
    expected = [round(roc_auc_score(truth, rows), 5) for rows in (kept, other)]
    assert score(table, dataset) in expected
    with pytest.raises(InvalidSubmission, match="stands there already"):
        score(table, twins(TOXIC, "v2"))


def test_rows_in_order_stay_as_they_are(twins, score, guess):
    dataset = twins(TOXIC)
    table, truth = guess(dataset), scored_answers(dataset)
    places = np.arange(len(truth)) // 3 * 3  # each scored id three times, and the two after it never
    others = dict(zip(truth.index, truth.index[places], strict=True))
    table = table.assign(id=table["id"].replace(others)).sort_values("id", kind="stable")
    kept = table[table["id"].isin(truth.index)].drop(columns="id")
    assert score(table, dataset) == round(roc_auc_score(truth, kept), 5)


def test_a_repeated_id_that_changes_the_number_of_scored_rows_is_refused(twins, score, guess):
    dataset = twins(TOXIC)
    table, truth = guess(dataset), scored_answers(dataset)
    unscored = table.index[~table["id"].isin(truth.index)][0]
    table.loc[unscored, "id"] = truth.index[0]
    with pytest.raises(InvalidSubmission, match="rows are scored"):
        score(table, dataset)


@pytest.mark.parametrize("competition", [TOXIC, BIAS])
def test_words_such_as_null_are_lost_in_v1_only(competition, twins):
    lost, kept = (
        set(read_csv(twins(competition, edition).public / "test.csv", **AS_TEXT)["comment_text"])
        for edition in ("v1", "v2")
    )
    assert {"NA", "nan"} & kept
    assert "" in lost - kept
    assert not {"NA", "nan"} & lost


def test_predictions_are_cut_in_v1_only(twins, score):
    answers = read_csv(twins(BIAS).private / "test.csv")[["id", "toxicity"]]
    low = answers.assign(toxicity=answers["toxicity"] / 10)
    assert score(low, twins(BIAS)) == 0.5
    assert score(low, twins(BIAS, "v2")) == 1


def test_an_area_of_zero_is_undefined_in_v1_only(twins, score):
    answers = read_csv(twins(BIAS).private / "test.csv")[["id", "toxicity"]]
    wrong = answers.assign(toxicity=(answers["toxicity"] < 0.5).astype(float))
    with pytest.raises(InvalidSubmission, match="undefined"):
        score(wrong, twins(BIAS))
    assert score(wrong, twins(BIAS, "v2")) == 0
