"""What is peculiar to the steganalysis: which pictures become the test, and the folders that must fit together."""

import random

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError
from mlebench.tables import read_csv

ID = "alaska2-image-steganalysis"
SCHEMES = ["JMiPOD", "JUNIWARD", "UERD"]


@pytest.fixture
def raw(tmp_path):
    """More pictures than the published test takes; each file holds its folder and name."""
    names = [f"{number:05d}.jpg" for number in range(1, 5_004)]
    for folder in ("Cover", *SCHEMES):
        (tmp_path / "raw" / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / "raw" / folder / name).write_text(f"{folder}/{name}")
    return tmp_path / "raw"


def test_the_division_is_the_published_one(raw):
    public, private = raw.parent / "public", raw.parent / "private"
    catalog.get(ID).prepare(raw, public, private)
    order = np.random.RandomState(42).permutation(5_003)
    names = [f"{number + 1:05d}.jpg" for number in order]
    assert [(public / "UERD" / f"0000{k}.jpg").read_text() for k in (1, 2, 3)] == [f"UERD/{n}" for n in names[5000:]]
    test = names[:5000]
    draws = random.Random(0)
    draws.shuffle(test)
    labels = read_csv(private / "test.csv").set_index("Id")["Label"]
    for number, name in enumerate(test, 1):
        folder = "Cover" if draws.choice([True, False]) else draws.choice(SCHEMES)
        assert (public / "Test" / f"{number:04d}.jpg").read_text() == f"{folder}/{name}"
        assert labels[f"{number:04d}.jpg"] == (folder != "Cover")


def test_a_picture_without_its_versions_is_refused(raw):
    (raw / "UERD" / "00007.jpg").unlink()
    with pytest.raises(PreparationError, match=r"UERD and Cover differ in 1 pictures, such as 00007\.jpg"):
        catalog.get(ID).prepare(raw, raw.parent / "public", raw.parent / "private")
