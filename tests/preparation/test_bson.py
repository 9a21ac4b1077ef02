"""BSON files, against bytes written out after the specification."""

import struct

import pandas as pd
import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.bson import copy_documents, copy_documents_without, find_integers


def element(kind, name, value):
    return bytes([kind]) + name.encode() + b"\0" + value


def int32(name, value):
    return element(0x10, name, struct.pack("<i", value))


def int64(name, value):
    return element(0x12, name, struct.pack("<q", value))


def text(name, value):
    return element(0x02, name, struct.pack("<i", len(value) + 1) + value + b"\0")


def binary(name, value):
    return element(0x05, name, struct.pack("<i", len(value)) + b"\0" + value)


def document(*elements):
    content = b"".join(elements)
    return struct.pack("<i", len(content) + 5) + content + b"\0"


ALL_KINDS = [
    element(0x01, "double", bytes(8)),
    text("text", b"_id\0\x10"),
    element(0x03, "document", document(int32("_id", 9))),
    element(0x04, "array", document(int32("0", 1))),
    binary("binary", b"\x10_id\0" * 9),
    element(0x07, "object", bytes(12)),
    element(0x08, "true", b"\1"),
    element(0x09, "date", bytes(8)),
    element(0x0A, "null", b""),
    element(0x0D, "code", struct.pack("<i", 3) + b"ab\0"),
    element(0x0F, "scope", struct.pack("<ii", 14, 1) + b"\0" + document()),
    element(0x11, "time", bytes(8)),
    element(0x13, "decimal", bytes(16)),
    element(0x7F, "maximum", b""),
    element(0xFF, "minimum", b""),
]
DOCUMENTS = [
    document(int32("_id", 3), binary("picture", bytes(100)), int32("category", 1000010653)),
    document(int64("category", -(2**40)), *ALL_KINDS, int32("_id", -1)),
    document(int32("category", 0), int32("_id", 7)),
]
WITHOUT = [
    document(int32("_id", 3), binary("picture", bytes(100))),
    document(*ALL_KINDS, int32("_id", -1)),
    document(int32("_id", 7)),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "products.bson"
    path.write_bytes(b"".join(DOCUMENTS))
    return path


def test_integers_are_found_among_all_kinds_of_elements(file):
    table = find_integers(file, ["_id", "category"])
    assert table["_id"].tolist() == [3, -1, 7]
    assert table["category"].tolist() == [1000010653, -(2**40), 0]
    assert (table["end"] - table["start"]).tolist() == list(map(len, DOCUMENTS))


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 2], [1], [2, 1, 0], []])
def test_documents_are_copied_in_the_order_asked_for(file, tmp_path, rows):
    chosen = find_integers(file, ["_id", "category"]).iloc[rows]
    copy_documents(file, tmp_path / "copy", chosen)
    assert (tmp_path / "copy").read_bytes() == b"".join(DOCUMENTS[row] for row in rows)
    copy_documents_without(file, tmp_path / "copy", chosen, "category")
    assert (tmp_path / "copy").read_bytes() == b"".join(WITHOUT[row] for row in rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (DOCUMENTS[0][:-1], "is damaged before byte 141"),
        (DOCUMENTS[0] + b"\7\0", "is damaged before byte 144"),
        (b"\4\0\0\0\0", "is damaged"),
        (struct.pack("<i", -5) + bytes(9), "is damaged"),
        (document(b"\x77a\0"), "unknown BSON type"),
        (document(element(0x05, "a", struct.pack("<i", 50))), "is damaged"),
        (document(element(0x05, "a", struct.pack("<i", 1))), "is damaged"),
        (document(b"\x10a"), "is damaged"),
        (document(int32("_id", 1))[:-1] + b"x", "is damaged"),
        (document(int32("category", 1)), "byte 0 has no integer _id"),
        (document(int32("category", 1), text("_id", b"1")), "byte 0 has no integer _id"),
        (document(int32("_id", 1), element(0x08, "category", b"\1")), "byte 0 has no integer category"),
    ],
)
def test_damage_is_named(file, content, message):
    file.write_bytes(content)
    with pytest.raises(PreparationError, match=message):
        find_integers(file, ["_id", "category"])


def test_an_empty_file_has_no_documents(file):
    file.write_bytes(b"")
    assert find_integers(file, ["_id"]).shape == (0, 3)


def test_every_cut_is_noticed(file):
    whole = file.read_bytes()
    ends = find_integers(file, ["_id"])["end"].tolist()
    for length in set(range(1, len(whole))) - set(ends):
        file.write_bytes(whole[:length])
        with pytest.raises(PreparationError, match="is damaged"):
            find_integers(file, ["_id"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PreparationError, match=r"none\.bson can't be read"):
        find_integers(tmp_path / "none.bson", ["_id"])
    with pytest.raises(PreparationError, match=r"none\.bson can't be read"):
        copy_documents(tmp_path / "none.bson", tmp_path / "copy", pd.DataFrame({"start": [0], "end": [1]}))
