"""What the metadata tell of the test in sum, and how much of the pictures is held out."""

import json

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Local

ID = "iwildcam-2020-fgvc7"


def tallies(dataset):
    """By category: its count in the training metadata, the training annotations, and the answers."""
    metadata = json.loads((dataset.public / "iwildcam2020_train_annotations.json").read_text())
    counts = pd.DataFrame(metadata["categories"]).set_index("id")["count"]
    shown = pd.DataFrame(metadata["annotations"])["category_id"].value_counts()
    hidden = pd.read_csv(dataset.private / "answers.csv")["Category"].value_counts()
    return (each.reindex(counts.index, fill_value=0) for each in (counts, shown, hidden))


def test_v1_counts_the_test_and_v2_does_not(twins):
    counts, shown, hidden = tallies(twins(ID, "v1"))
    assert (counts - shown).tolist() == hidden.tolist()
    assert hidden.sum() > 0
    counts, shown, _ = tallies(twins(ID, "v2"))
    assert counts.tolist() == shown.tolist()


@pytest.mark.parametrize(("edition", "most"), [("v1", 0.22 / 0.78), ("v2", 0.22)])
def test_the_share_of_the_test(twins, edition, most):
    _, shown, hidden = tallies(twins(ID, edition))
    assert most - 0.08 < hidden.sum() / (hidden.sum() + shown.sum()) <= most


def test_records_without_a_key_are_written_as_from_a_table(twins, tmp_path):
    raw = tmp_path / "raw"
    twin = twins(ID, "v1").competition
    twin.make_raw(raw, np.random.default_rng(0), 40)
    path = raw / "iwildcam2020_train_annotations.json"
    metadata = json.loads(path.read_text())
    del metadata["categories"][0]["count"], metadata["categories"][1]["name"]
    metadata["categories"][2]["name"] = None
    path.write_text(json.dumps(metadata))
    (tmp_path / "public").mkdir()
    twin.prepare(raw, tmp_path / "public", tmp_path / "private")
    text = (tmp_path / "public" / "iwildcam2020_train_annotations.json").read_text()
    counts = [float(each["count"]) for each in metadata["categories"][1:3]]
    assert (
        f'"categories": [{{"id": 0, "name": "empty", "count": NaN}}, {{"id": 2, "name": NaN, "count": {counts[0]}}}'
        in text
    )
    assert f'{{"id": 3, "name": null, "count": {counts[1]}}}' in text


@pytest.fixture
def annotated_twice(tmp_path):
    """Both editions, prepared from metadata that have a second annotation of each image, and one of no image."""
    raw = tmp_path / "raw"
    catalog.get(ID).make_raw(raw, np.random.default_rng(0), 200)
    path = raw / "iwildcam2020_train_annotations.json"
    metadata = json.loads(path.read_text())
    once = metadata["annotations"]
    metadata["annotations"] = [*once, {**once[0], "image_id": "none"}, *({**each, "category_id": 1} for each in once)]
    path.write_text(json.dumps(metadata))
    path = raw / "iwildcam2020_test_information.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"categories": metadata["categories"]}))
    datasets = [Dataset(catalog.get(ID).in_edition(edition), tmp_path / "data") for edition in ("v1", "v2")]
    for dataset in datasets:
        prepare(dataset, Local(raw))
    return datasets


def test_images_that_are_annotated_twice_have_two_rows_in_v1_and_one_in_v2(annotated_twice, tmp_path):
    for dataset, rows in zip(annotated_twice, (2, 1), strict=True):
        answers = pd.read_csv(dataset.private / "answers.csv")
        assert (answers["Id"].value_counts() == rows).all()
        assert score_submission(dataset.private / "answers.csv", dataset) == 1
        pd.concat([answers.iloc[:-1], answers.head(1)]).to_csv(tmp_path / "x.csv", index=False)
        with pytest.raises(InvalidSubmission, match=r"(?s)stands there.*missing"):
            score_submission(tmp_path / "x.csv", dataset)
    metadata = json.loads((annotated_twice[0].public / "iwildcam2020_train_annotations.json").read_text())
    assert "none" not in {each["image_id"] for each in metadata["annotations"]}


def test_v2_does_not_repeat_the_counts_in_the_metadata_of_the_test(annotated_twice):
    for dataset, counted in zip(annotated_twice, (True, False), strict=True):
        metadata = json.loads((dataset.public / "iwildcam2020_test_information.json").read_text())
        assert {"count" in each for each in metadata["categories"]} == {counted}
