"""Parquet files of synthetic twins hold what was given, as an independent reader of the format's footer finds it."""

import gzip
import struct

import numpy as np
import pytest

from mlebench.preparation.parquet import parquet_bytes

DTYPES = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
INTEGERS, TEXT, LIST, STRUCT = (3, 4, 5, 6), 8, 9, 12


class Reader:
    """Values of Thrift's compact protocol; structures as dictionaries by the numbers of their fields."""

    def __init__(self, content, place):
        self.content, self.place = content, place

    def byte(self):
        self.place += 1
        return self.content[self.place - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind in INTEGERS:
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == TEXT:
            length = self.varint()
            self.place += length
            return self.content[self.place - length : self.place].decode()
        if kind == LIST:
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(size)]
        assert kind == STRUCT
        return self.struct()

    def struct(self):
        fields, number = {}, 0
        while head := self.byte():
            assert head >> 4, "long field numbers are not used"
            number += head >> 4
            fields[number] = self.value(head & 15)
        return fields


def read_parquet(content):
    assert content[:4] == content[-4:] == b"PAR1"
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = Reader(content, len(content) - 8 - length)
    facts = footer.struct()
    assert footer.place == len(content) - 8
    root, *leaves = facts[2]
    assert root[5] == len(leaves)
    (group,) = facts[4]
    assert group[3] == facts[3]
    columns, end = {}, 4
    for leaf, chunk in zip(leaves, group[1], strict=True):
        column = chunk[3]
        assert column[3] == [leaf[4]]
        assert column[1] == leaf[1]
        assert column[4] == 2  # gzip
        assert chunk[2] == column[9] == end  # pages follow each other
        page = Reader(content, column[9])
        header = page.struct()
        assert (header[1], header[5][1], header[5][2], leaf[3]) == (0, facts[3], 0, 0)
        packed = content[page.place : page.place + header[3]]
        end = page.place + header[3]
        plain = gzip.decompress(packed)
        assert len(plain) == header[2]
        assert column[7] == end - column[9]
        assert column[6] == column[7] - header[3] + header[2]
        columns[leaf[4]] = np.frombuffer(plain, DTYPES[leaf[1]])
    assert end == len(content) - 8 - length
    return columns


@pytest.mark.parametrize("rows", [0, 1, 7, 300])
@pytest.mark.parametrize("count", [1, 14, 15, 401])
def test_columns_are_read_as_they_were(rows, count):
    rng = np.random.default_rng(rows)
    types = [np.int32, np.int64, np.float32, np.float64]
    columns = {
        f"LL_{number / 7:.2f}": (rng.normal(size=rows) * 1e6).astype(types[number % 4]) for number in range(count)
    }
    found = read_parquet(parquet_bytes(columns))
    assert list(found) == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype


def test_bytes_depend_on_the_columns_alone():
    columns = {"time": np.arange(5), "ä": np.ones(5, np.float32)}
    assert parquet_bytes(columns) == parquet_bytes(columns)
    assert list(read_parquet(parquet_bytes(columns))) == ["time", "ä"]


def test_columns_that_differ_in_length_are_refused():
    with pytest.raises(ValueError, match=r"lengths \[1, 2\]"):
        parquet_bytes({"a": np.arange(1), "b": np.arange(2)})
