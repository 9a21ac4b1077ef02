"""Gestures: edition v2 takes the labels out of the test recordings, and out of nothing else."""

import io
import tarfile
import zipfile

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError

V1 = catalog.get("multi-modal-gesture-recognition")
V2 = V1.in_edition("v2")


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw").mkdir()
    V1.make_raw(tmp_path / "raw", np.random.default_rng(0), 12)
    return tmp_path / "raw"


def prepare(competition, raw):
    public, private = (raw.with_name(f"{competition.edition}-{side}") for side in ("public", "private"))
    public.mkdir()
    private.mkdir()
    competition.prepare(raw=raw, public=public, private=private)
    return public, private


def recordings(archive):
    with tarfile.open(archive) as opened:
        return {member.name: opened.extractfile(member).read() for member in opened}


def test_only_the_labels_of_the_test_are_taken_out(raw):
    (public, private), (public_v2, private_v2) = prepare(V1, raw), prepare(V2, raw)
    assert (private / "test.csv").read_bytes() == (private_v2 / "test.csv").read_bytes()
    for path in public.iterdir():
        same = path.read_bytes() == (public_v2 / path.name).read_bytes()
        assert same == (path.name != "test.tar.gz")
    before, after = recordings(public / "test.tar.gz"), recordings(public_v2 / "test.tar.gz")
    assert list(before) == list(after)
    for name in before:
        with zipfile.ZipFile(io.BytesIO(before[name])) as one, zipfile.ZipFile(io.BytesIO(after[name])) as other:
            assert one.namelist() == other.namelist()
            assert other.testzip() is None
            differ = [member for member in one.namelist() if one.read(member) != other.read(member)]
        assert differ == [name.replace(".zip", "_data.mat")]


@pytest.mark.parametrize("damage", ["cut", "no gzip", "a recording that is no zip"])
def test_damaged_archives(raw, damage):
    path = raw / "training4.tar.gz"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:500])
    elif damage == "no gzip":
        path.write_bytes(b"no archive")
    else:
        (name, *_) = recordings(path)
        with tarfile.open(path, "w:gz") as archive:
            archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(PreparationError):
        prepare(V2, raw)


def test_recordings_without_a_sequence(raw):
    lines = (raw / "training.csv").read_text().splitlines()
    (raw / "training.csv").write_text("\n".join(lines[:4]) + "\n")
    with pytest.raises(PreparationError, match="do not stand in training"):
        prepare(V1, raw)
