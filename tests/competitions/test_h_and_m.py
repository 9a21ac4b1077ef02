"""What is peculiar to the fashion recommendations: how ids are read, who may be missing, and the chunks."""

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.errors import InvalidSubmission, PreparationError
from mlebench.grading import score_submission, validate_submission
from mlebench.tables import read_csv

ID = "h-and-m-personalized-fashion-recommendations"


@pytest.fixture
def dataset(twins):
    return twins(ID)


@pytest.fixture
def scored(dataset, tmp_path):
    """Writes a submission that gives each scored customer the cell of `cell(articles)`, and scores it."""

    def score(cell):
        answers = read_csv(dataset.private / "answers.csv", dtype=str)
        cells = [cell(articles.split()) for articles in answers["prediction"]]
        answers.assign(prediction=cells).to_csv(tmp_path / "submission.csv", index=False)
        return score_submission(tmp_path / "submission.csv", dataset)

    return score


def test_leading_zeros_never_hit_in_lists(scored):
    assert scored(lambda articles: f"0{articles[0]} 0{articles[-1]}") == 0
    assert scored(lambda articles: f"{articles[0]} {articles[-1]}") > 0.5


def test_leading_zeros_do_no_harm_where_each_cell_is_one_id(scored):
    assert scored(lambda articles: f"0{articles[0]}") == scored(lambda articles: articles[0]) > 0.2


def test_single_ids_never_hit_where_a_cell_is_missing(scored):
    some_missing = iter([None] + [True] * 10_000)
    assert scored(lambda articles: articles[0] if next(some_missing) else None) == 0


def test_doubled_blanks_use_up_ranks(scored):
    assert scored(lambda articles: f" {articles[0]} 1") == pytest.approx(
        scored(lambda articles: f"{articles[0]} 1") / 2, abs=1e-5
    )


def test_a_missing_scored_customer_shows_only_when_grading(dataset, tmp_path):
    answers = read_csv(dataset.private / "answers.csv", dtype=str)
    path = tmp_path / "submission.csv"
    answers.iloc[3:].to_csv(path, index=False)
    validation = validate_submission(path, dataset)
    assert validation.valid
    assert validation.warnings
    with pytest.raises(InvalidSubmission) as refusal:
        score_submission(path, dataset)
    assert [(problem.kind, problem.count) for problem in refusal.value.problems] == [("missing id", 3)]


def test_reading_in_parts_gives_the_bytes_of_reading_at_once(dataset, tmp_path, monkeypatch):
    competition = catalog.get(ID)
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    raw.mkdir()
    competition.make_raw(raw, np.random.default_rng(3), 40)
    monkeypatch.setattr(competition._module("prepare.py"), "ROWS", 97)
    competition.prepare(raw, public, private)

    table = read_csv(raw / "transactions_train.csv")
    days = pd.to_datetime(table["t_dat"])
    is_test = days >= days.max() - pd.DateOffset(days=7)
    baskets = table[is_test].groupby("customer_id")["article_id"].apply(lambda ids: " ".join(map(str, ids)))
    table[~is_test].to_csv(tmp_path / "train.csv", index=False)
    baskets.rename("prediction").reset_index().to_csv(tmp_path / "answers.csv", index=False)
    assert (public / "transactions_train.csv").read_bytes() == (tmp_path / "train.csv").read_bytes()
    assert (private / "answers.csv").read_bytes() == (tmp_path / "answers.csv").read_bytes()
    assert days[is_test].nunique() == 8


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [("", "no purchases"), ("2020-09-22,c,0108775015,0.1,1\n2020-09-15,c,0108775015,0.1,1\n", "spans only 2")],
)
def test_too_few_purchases_are_named(tmp_path, rows, complaint):
    header = "t_dat,customer_id,article_id,price,sales_channel_id\n"
    (tmp_path / "transactions_train.csv").write_text(header + rows)
    with pytest.raises(PreparationError, match=complaint):
        catalog.get(ID).prepare(tmp_path, tmp_path / "public", tmp_path / "private")
