"""TFRecords: framing and messages, against published values and bytes written out by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.errors import PreparationError
from mlebench.preparation import tfrecords
from mlebench.preparation.tfrecords import decode_example, encode_example

VALUES = st.one_of(
    st.lists(st.binary(max_size=300), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1),
    st.just([]),
)
FEATURES = st.dictionaries(st.text(), VALUES)


@given(FEATURES)
def test_a_message_reads_as_it_was_written(features: dict[str, tfrecords.Values]) -> None:
    decoded = decode_example(encode_example(features))
    assert decoded == features
    assert list(decoded) == list(features)
    assert {name: list(map(type, values)) for name, values in decoded.items()} == {
        name: list(map(type, values)) for name, values in features.items()
    }


def test_a_message_has_the_bytes_of_its_definition() -> None:
    # Example{1: Features{1: {1: "a", 2: Feature{3: Int64List{1: packed 1, 300}}}}}
    by_hand = b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x05\x0a\x03\x01\xac\x02"
    assert encode_example({"a": [1, 300]}) == by_hand
    assert decode_example(by_hand) == {"a": [1, 300]}


def test_numbers_that_are_not_packed_are_read() -> None:
    integers = b"\x0a\x0e\x0a\x0c\x0a\x01a\x12\x07\x1a\x05\x08\x01\x08\xac\x02"
    assert decode_example(integers) == {"a": [1, 300]}
    values = b"\x0d" + struct.pack("<f", 1.5) + b"\x0d" + struct.pack("<f", -2)
    floats = b"\x0a\x13\x0a\x11\x0a\x01b\x12\x0c\x12\x0a" + values
    assert decode_example(floats) == {"b": [1.5, -2.0]}


def test_unknown_fields_and_entries_without_values_are_passed_over() -> None:
    entry = b"\x0a\x01a" + b"\x18\x07" + b"\x21" + bytes(8) + b"\x2d" + bytes(4)
    assert decode_example(b"\x0a" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry) == {"a": []}
    assert decode_example(b"") == {}


def test_the_checksum_is_masked_crc32c() -> None:
    # CRC-32C of "123456789" is e3069283 (RFC 3720 and every table of such sums).
    masked = (((0xE3069283 >> 15) | (0xE3069283 << 17 & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF
    assert tfrecords._checksum(b"123456789") == struct.pack("<I", masked)


def test_files_hold_records_one_after_another(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.tfrec"
    messages = [b"", b"one", bytes(1000)]
    tfrecords.write_records(file, messages)
    assert list(tfrecords.read_records(file)) == messages
    assert file.stat().st_size == sum(map(len, messages)) + 16 * len(messages)
    assert file.read_bytes()[:8] == bytes(8)
    tfrecords.write_records(file, [])
    assert list(tfrecords.read_records(file)) == []


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.tfrec"
    tfrecords.write_examples(file, [{"image_name": [b"x.jpg"], "target": [3]}])
    whole = file.read_bytes()
    for position in range(len(whole)):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(PreparationError, match=r"a\.tfrec is damaged at record 1"):
            list(tfrecords.read_records(file))
    for length in range(1, len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(PreparationError, match="damaged"):
            list(tfrecords.read_records(file))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_an_error_of_ours(message: bytes) -> None:
    try:
        decode_example(message)
    except PreparationError as error:
        assert "tf.train.Example" in str(error)


def test_missing_files_and_other_messages_are_named(tmp_path: Path) -> None:
    with pytest.raises(PreparationError, match=r"none\.tfrec can't be read"):
        list(tfrecords.read_examples(tmp_path / "none.tfrec"))
    file = tmp_path / "other.tfrec"
    tfrecords.write_records(file, [encode_example({}), b"no message"])
    with pytest.raises(PreparationError, match=r"other\.tfrec, record 2: no tf\.train\.Example"):
        list(tfrecords.read_examples(file))


def test_texts_are_the_first_values(tmp_path: Path) -> None:
    file = tmp_path / "a.tfrec"
    tfrecords.write_examples(file, [{"name": ["ä".encode(), b"b"]}, {"x": [1], "name": [b"c"]}])
    assert tfrecords.read_texts(file, "name") == ["ä", "c"]
    for values in ([1], [], [b"\xff"]):
        tfrecords.write_examples(file, [{"name": [b"a"]}, {"name": values}])
        with pytest.raises(PreparationError, match="record 2: the feature 'name' is no text"):
            tfrecords.read_texts(file, "name")


def test_features_are_dropped_and_all_others_kept(tmp_path: Path) -> None:
    examples: list[tfrecords.Features] = [
        {"image": [bytes(range(256))], "target": [i], "age": [i / 2]} for i in range(3)
    ]
    source, target = tmp_path / "a.tfrec", tmp_path / "b.tfrec"
    tfrecords.write_examples(source, examples)
    tfrecords.drop_features(source, target, {"target", "diagnosis"})
    assert list(tfrecords.read_examples(target)) == [{"image": e["image"], "age": e["age"]} for e in examples]
