"""What the archives of pictures tell, and what they lack."""

import json
import tarfile

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.preparation.engine import run_prepare

ID = "inaturalist-2019-fgvc6"


@pytest.mark.parametrize(("edition", "name"), [("v1", "test2019.tar.gz"), ("v2", "test2019.tar")])
def test_the_order_of_test_pictures_is_that_of_their_names(edition, name, twins):
    with tarfile.open(twins(ID, edition).public / name, "r:") as archive:
        names = archive.getnames()
    assert names == sorted(names)
    assert len(names) > 20


@pytest.fixture
def raw(tmp_path):
    catalog.get(ID).make_raw(tmp_path / "raw", np.random.default_rng(0), 60)
    (tmp_path / "public").mkdir()
    return tmp_path / "raw"


def prepare(raw):
    run_prepare(catalog.get(ID), raw, raw.parent / "public", raw.parent / "private")


def test_missing_pictures_are_named(raw):
    metadata = json.loads((raw / "train2019.json").read_text())
    metadata["images"][5]["file_name"] = "train_val2019/Birds/7/lost.jpg"
    (raw / "train2019.json").write_text(json.dumps(metadata))
    with pytest.raises(PreparationError, match=r"lost\.jpg"):
        prepare(raw)


def test_test_pictures_of_one_name_are_refused(raw):
    metadata = json.loads((raw / "train2019.json").read_text())
    for place, image in enumerate(metadata["images"]):
        image["file_name"] = f"train_val2019/Birds/{place}/one.jpg"
    (raw / "train2019.json").write_text(json.dumps(metadata))
    with pytest.raises(PreparationError, match=r"one\.jpg"):
        prepare(raw)
