"""What edition v2 corrects in competitions of medical pictures and of photographs."""

from itertools import chain

import pandas as pd
import pytest
from PIL import Image

from mlebench.preparation.tfrecords import read_examples, read_texts

CATHETERS, MOLES = "ranzcr-clip-catheter-line-classification", "siim-isic-melanoma-classification"
FORESTS, SIGNALS = "invasive-species-monitoring", "seti-breakthrough-listen"


@pytest.mark.parametrize(
    ("competition", "patient", "test"),
    [(CATHETERS, "PatientID", "private/test.csv"), (MOLES, "patient_id", "public/test.csv")],
)
def test_patients_are_on_both_sides_in_v1_only(competition, patient, test, twins):
    def shared(edition):
        prepared = twins(competition, edition).prepared
        sides = [pd.read_csv(prepared / file)[patient] for file in ("public/train.csv", test)]
        return set(sides[0]) & set(sides[1])

    assert shared("v1")
    assert not shared("v2")


def test_records_of_moles_are_divided_as_the_tables_are(twins):
    public = twins(MOLES, "v2").public
    for part in ("train", "test"):
        files = sorted((public / "tfrecords").glob(f"{part}*.tfrec"))
        names = {file: read_texts(file, "image_name") for file in files}
        assert sorted(chain.from_iterable(names.values())) == sorted(pd.read_csv(public / f"{part}.csv")["image_name"])
        assert all(file.stem.endswith(f"-{len(found)}") for file, found in names.items())


def test_records_of_test_moles_hold_no_answers(twins):
    def features(edition, part):
        files = (twins(MOLES, edition).public / "tfrecords").glob(f"{part}*.tfrec")
        return {name for file in files for example in read_examples(file) for name in example}

    answers = {"target", "diagnosis"}
    assert answers <= features("v1", "test")
    assert answers <= features("v2", "train")
    kept = {"image", "image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge"}
    assert features("v2", "test") == kept


def test_photographs_of_the_forest_are_there(twins):
    dataset = twins(FORESTS, "v2")
    train = pd.read_csv(dataset.public / "train_labels.csv")["name"]
    test = pd.read_csv(dataset.sample_submission)["name"]
    for folder, names in (("train", train), ("test", test)):
        assert {path.name for path in (dataset.public / folder).iterdir()} == {f"{name}.jpg" for name in names}
        for path in (dataset.public / folder).iterdir():
            with Image.open(path) as picture:
                picture.verify()


def test_all_labels_of_catheters_are_asked_for(twins):
    labels = [name for name in pd.read_csv(twins(CATHETERS, "v2").public / "train.csv").columns if " " in name]
    assert len(labels) == 11
    assert twins(CATHETERS, "v2").competition.schema.names[1:] == labels
    assert twins(CATHETERS, "v1").competition.schema.names[1:] == labels[:9]


def test_signals_of_the_withdrawn_contest_are_left_out(twins):
    assert (twins(SIGNALS, "v1").public / "old_leaky_data").is_dir()
    assert not (twins(SIGNALS, "v2").public / "old_leaky_data").exists()
