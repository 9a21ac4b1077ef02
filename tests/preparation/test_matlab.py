"""MAT files beside SciPy: it reads what is written here, and a field of what it writes is emptied and nothing else."""

import io
import struct

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from mlebench.errors import PreparationError
from mlebench.preparation import matlab
from mlebench.preparation.matlab import empty_field, mat_bytes

LABELS = np.array([[("ok", 1, 20), ("basta", 25, 44)]], dtype=[("Name", "O"), ("Begin", "O"), ("End", "O")])
VIDEO = {
    "NumFrames": 320,
    "Depth": np.arange(6.0).reshape(2, 3),
    "Labels": LABELS,
    "Name": "Sample",
    "Frames": np.array([[1, "x"]], dtype=object),
}


def saved(video=VIDEO, **options):
    buffer = io.BytesIO()
    savemat(buffer, {"Other": {"Labels": [1, 2]}, "Video": video, "Last": np.eye(3)}, **options)
    return buffer.getvalue()


def load(content):
    return loadmat(io.BytesIO(content))


def assert_equal(found, expected):
    """Arrays of any depth are the same; `assert_array_equal` stops at objects."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if found.dtype.names:
        for name in found.dtype.names:
            assert_equal(found[name], expected[name])
    elif found.dtype == object:
        for one, other in zip(found.ravel(), expected.ravel(), strict=True):
            assert_equal(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("field", ["Labels", "NumFrames", "Depth", "Name", "Frames"])
def test_a_field_is_emptied_and_nothing_else_changes(packed, field):
    before = load(saved(do_compression=packed))
    after = load(empty_field(saved(do_compression=packed), "Video", field))
    assert after["Video"][field][0, 0].size == 0
    assert after["Video"][field][0, 0].dtype.names == before["Video"][field][0, 0].dtype.names
    for name in ("Other", "Last"):
        assert_equal(after[name], before[name])
    for name in set(VIDEO) - {field}:
        assert_equal(after["Video"][name], before["Video"][name])


def test_every_item_of_a_row_of_structures_is_emptied():
    videos = np.array([[(LABELS, 1), (LABELS[:, :1], 2)]], dtype=[("Labels", "O"), ("Number", "O")])
    after = load(empty_field(saved(videos), "Video", "Labels"))["Video"]
    assert [labels.size for labels in after["Labels"][0]] == [0, 0]
    assert [number.item() for number in after["Number"][0]] == [1, 2]


def test_emptying_twice_changes_nothing_more():
    once = empty_field(saved(do_compression=True), "Video", "Labels")
    assert empty_field(once, "Video", "Labels") == once


def test_files_of_machines_with_the_other_order_of_bytes():
    header = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + struct.pack(">H", 0x0100) + b"MI"
    items = {"Labels": [{"Name": "ok", "Begin": 1.0}], "NumFrames": 3.0}
    after = load(empty_field(header + matlab._array(">", items, "Video"), "Video", "Labels"))["Video"]
    assert after["Labels"][0, 0].shape == (1, 0)
    assert after["NumFrames"][0, 0].item() == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        saved()[:100],
        saved()[:200],
        saved(do_compression=True)[:-1],
        saved({"NumFrames": 1}),
        saved(3.0),
        saved().replace(b"\0\1IM", b"\0\2IM"),  # version 7.3 is another format
    ],
)
def test_what_can_not_be_emptied_is_an_error(content):
    with pytest.raises(PreparationError, match="MAT file"):
        empty_field(content, "Video", "Labels")


def test_what_is_written_can_be_read():
    skeletons = [{"Skeleton": np.arange(6.0).reshape(3, 2) + place} for place in range(3)]
    content = mat_bytes("Video", {"Rate": 20, "Frames": skeletons, "Labels": [], "Name": "ok"})
    video = load(content)["Video"][0, 0]
    assert video["Rate"].item() == 20
    assert video["Name"].item() == "ok"
    assert video["Labels"].size == 0
    assert video["Frames"].shape == (1, 3)
    np.testing.assert_array_equal(video["Frames"][0, 2]["Skeleton"], skeletons[2]["Skeleton"])
    assert mat_bytes("Video", {"Rate": 20}) == mat_bytes("Video", {"Rate": 20})
