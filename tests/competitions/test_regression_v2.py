"""What edition v2 corrects in couplings, pages, pets and lungs."""

import math
from itertools import chain

import pandas as pd
import pytest

from mlebench.grading import score_submission
from mlebench.preparation.lookalikes import lookalikes
from mlebench.preparation.pictures import picture_hashes
from mlebench.tables import read_csv, write_csv

COUPLINGS, PAGES = "champs-scalar-coupling", "denoising-dirty-documents"
PETS, LUNGS = "petfinder-pawpularity-score", "osic-pulmonary-fibrosis-progression"


@pytest.mark.parametrize("edition", ["v1", "v2"])
def test_structures_of_test_molecules(edition, twins):
    public = twins(COUPLINGS, edition).public

    def molecules(table):
        return set(read_csv(public / f"{table}.csv", usecols=["molecule_name"])["molecule_name"])

    shown = molecules("train") | (molecules("test") if edition == "v2" else set())
    assert molecules("structures") == {path.stem for path in (public / "structures").iterdir()} == shown
    assert molecules("scalar_coupling_contributions") == molecules("train")


def test_one_type_without_error_is_not_worth_all_others(twins, tmp_path):
    scores = []
    for edition in ("v1", "v2"):
        dataset = twins(COUPLINGS, edition)
        answers = read_csv(dataset.private / "answers.csv")
        constant = answers["scalar_coupling_constant"]
        wrong = answers["type"] != "1JHC"
        write_csv(answers.assign(scalar_coupling_constant=constant + wrong), tmp_path / "submission.csv")
        scores.append(score_submission(tmp_path / "submission.csv", dataset))
    types = answers["type"].nunique()
    assert scores[0] == -math.inf
    assert scores[1] == pytest.approx(math.log(1e-9) / types, abs=1e-5)


def test_clean_pages_of_the_test_are_not_shown(twins):
    """All pictures of the twin's pages are the same four times, so that the shown ones come in fours in v2."""
    counts = {}
    for edition in ("v1", "v2"):
        shown = picture_hashes(sorted((twins(PAGES, edition).public / "train_cleaned").iterdir()))
        counts[edition] = set(pd.Series(shown).value_counts())
    assert counts["v1"] != {4}
    assert counts["v2"] == {4}


def test_photographs_that_look_the_same_stay_together(twins):
    shared = []
    for edition in ("v1", "v2"):
        public = twins(PETS, edition).public
        train, test = (sorted((public / part).iterdir()) for part in ("train", "test"))
        group = lookalikes(list(chain(train, test)))
        shared.append(len(set(group[: len(train)]) & set(group[len(train) :])))
    assert shared[0] > 0
    assert shared[1] == 0


def test_weeks_do_not_tell_when_patients_were_seen(twins):
    weeks, readings = [], []
    for edition in ("v1", "v2"):
        dataset = twins(LUNGS, edition)
        ids = read_csv(dataset.sample_submission)["Patient_Week"]
        weeks.append(set(ids.str.rpartition("_")[2].astype(int)))
        readings.append(read_csv(dataset.private / "test.csv").dropna(subset="FVC").reset_index(drop=True))
    assert weeks[0] == set(range(readings[0]["Weeks"].min(), readings[0]["Weeks"].max() + 1))
    assert weeks[1] == set(range(-12, 134))
    pd.testing.assert_frame_equal(*readings)
