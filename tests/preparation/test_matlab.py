"""MAT files: a field is emptied and nothing else changes; what is written does not depend on the clock."""

import io
import struct
import time

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from mlebench.errors import PreparationError
from mlebench.preparation.matlab import empty_field, mat_bytes, structures

LABELS = np.array([[("ok", 1, 20), ("basta", 25, 44)]], dtype=[("Name", "O"), ("Begin", "O"), ("End", "O")])
VIDEO = {
    "NumFrames": 320,
    "Depth": np.arange(6.0).reshape(2, 3),
    "Labels": LABELS,
    "Name": "Sample",
    "Nameless": "",
    "Packed": True,
    "a_name_of_more_than_thirty_one_characters": np.zeros((0, 0)),
    "Frames": np.array([[1, "x"]], dtype=object),
}
# An array: its class, its shape, its name "Rate", and the byte 20 or, of a function, another array
SHAPE, NAME = (5, 8, 1, 1), (1 | 4 << 16, 0x65746152)
RATE = struct.pack("<14I", 14, 48, 6, 8, 6, 0, *SHAPE, *NAME, 2 | 1 << 16, 20)
FUNCTION = struct.pack("<12I", 14, 96, 6, 8, 16, 0, *SHAPE, *NAME) + RATE


def saved(video=VIDEO, **options):
    buffer = io.BytesIO()
    savemat(buffer, {"Other": {"Labels": [1, 2]}, "Video": video, "Last": np.eye(3)}, long_field_names=True, **options)
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


def test_numbers_that_are_packed_as_smaller_ones_keep_their_type():
    """Matlab writes the float 20 as a byte."""
    assert load(saved() + RATE)["Rate"].dtype == np.uint8
    after = load(empty_field(saved() + RATE, "Video", "Labels"))
    assert after["Rate"].dtype == np.float64
    assert after["Rate"].item() == 20


@pytest.mark.parametrize(
    "content",
    [
        b"",
        saved()[:100],
        saved()[:200],
        saved(do_compression=True)[:-1],
        saved({"NumFrames": 1}),
        saved(3.0),
        saved() + FUNCTION,
        saved().replace(b"\0\1IM", b"\0\2IM"),  # version 7.3 is another format
    ],
    ids=["empty", "no header", "cut", "cut in packed data", "no Labels", "no struct", "function", "7.3"],
)
def test_what_can_not_be_emptied_is_an_error(content):
    with pytest.raises(PreparationError, match="MAT file"):
        empty_field(content, "Video", "Labels")


def test_what_is_written_can_be_read():
    skeletons = [{"Skeleton": np.arange(6.0).reshape(3, 2) + place} for place in range(3)]
    frames, labels = structures(skeletons, ["Skeleton"]), structures([], ["Name"])
    video = load(mat_bytes({"Video": {"Rate": 20, "Frames": frames, "Labels": labels, "Name": "ok"}}))["Video"][0, 0]
    assert video["Rate"].item() == 20
    assert video["Name"].item() == "ok"
    assert video["Labels"].shape == (1, 0)
    assert video["Labels"].dtype.names == ("Name",)
    assert video["Frames"].shape == (1, 3)
    np.testing.assert_array_equal(video["Frames"][0, 2]["Skeleton"], skeletons[2]["Skeleton"])


def test_bytes_do_not_depend_on_the_clock(monkeypatch):
    before = mat_bytes({"Rate": 20.0})
    monkeypatch.setattr(time, "asctime", lambda: "Thu Jan  1 00:00:00 1970")
    assert b"1970" in saved()[:116]
    assert mat_bytes({"Rate": 20.0}) == before
