"""TFRecord files of `tf.train.Example` messages, read and written without TensorFlow.

A file is a row of records: length (64 bits, little-endian), its checksum, the message, its checksum; a checksum is
a masked CRC-32C. A message holds lists of bytes, integers or floats by name. Source: TensorFlow's guide to TFRecord
and its `example.proto`, `feature.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

import google_crc32c

from mlebench.errors import PreparationError

Values = list[bytes] | list[int] | list[float]
Features = dict[str, Values]

_VARINT, _BYTES = 0, 2  # wire types of protocol buffers
_FIXED_LENGTHS = {1: 8, 5: 4}  # bytes by wire type
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3  # field numbers of a feature


def read_examples(file: Path) -> Iterator[Features]:
    """The features of each record of `file`, one record in memory at a time.

    Raises PreparationError, with the record's number, if the file is damaged or holds something else.
    """
    for number, message in enumerate(read_records(file), start=1):
        try:
            yield decode_example(message)
        except PreparationError as error:
            raise PreparationError(f"{file}, record {number}: {error}") from error


def read_texts(file: Path, name: str) -> list[str]:
    """The first value of the feature `name` of each record, as a text.

    Raises PreparationError as `read_examples`, and for a record without it.
    """
    texts = []
    for number, features in enumerate(read_examples(file), start=1):
        value = next(iter(features.get(name, [])), None)
        try:
            if not isinstance(value, bytes):
                raise ValueError
            texts.append(value.decode())
        except ValueError as error:
            raise PreparationError(f"{file}, record {number}: the feature {name!r} is no text") from error
    return texts


def write_examples(file: Path, examples: Iterable[Mapping[str, Values]]) -> None:
    """Write a record for each of `examples`; makes the parent folders."""
    write_records(file, map(encode_example, examples))


def drop_features(source: Path, target: Path, names: Collection[str]) -> None:
    """Write the records of `source` to `target` without the features `names`.

    Raises PreparationError as `read_examples`.
    """
    kept = ({name: values for name, values in each.items() if name not in names} for each in read_examples(source))
    write_examples(target, kept)


def read_records(file: Path) -> Iterator[bytes]:
    """The messages of `file`, one in memory at a time; lengths and checksums are verified.

    Raises PreparationError if the file is missing or damaged.
    """
    try:
        left = file.stat().st_size
        with file.open("rb") as opened:
            number = 0
            while left:
                number += 1
                message = _read_record(opened.read(min(left, 12)), left, opened.read)
                if message is None:
                    raise PreparationError(f"{file} is damaged at record {number}: is it a TFRecord file?")
                yield message
                left -= len(message) + 16
    except OSError as error:
        raise PreparationError(f"{file} can't be read: {error}") from error


def write_records(file: Path, messages: Iterable[bytes]) -> None:
    """Write a record for each message; makes the parent folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as opened:
        for message in messages:
            length = struct.pack("<Q", len(message))
            opened.write(length + _checksum(length) + message + _checksum(message))


def encode_example(features: Mapping[str, Values]) -> bytes:
    """A `tf.train.Example` message with these lists, in their order.

    The first value of a list says what it is; integers: 64 bits, signed; floats are rounded to 32 bits.
    """
    entries = b"".join(
        _field(1, _field(1, name.encode()) + _field(2, _encode_values(values))) for name, values in features.items()
    )
    return _field(1, entries)


def decode_example(message: bytes) -> Features:
    """The lists of a `tf.train.Example` message by name. Raises PreparationError if it is none."""
    try:
        features: Features = {}
        for entries in _messages(message, 1):
            for entry in _messages(entries, 1):
                name = b"".join(_messages(entry, 1)).decode()
                features[name] = _decode_values(b"".join(_messages(entry, 2)))
    except (ValueError, struct.error) as error:
        raise PreparationError(f"no tf.train.Example message: {error}") from error
    return features


def _read_record(header: bytes, left: int, read: Callable[[int], bytes]) -> bytes | None:
    """The message after `header`, `left` bytes before the end of the file; None if the record is damaged."""
    if len(header) < 12 or _checksum(header[:8]) != header[8:]:
        return None
    (length,) = struct.unpack("<Q", header[:8])
    if length + 16 > left:
        return None
    message = read(length)
    return message if read(4) == _checksum(message) else None


def _checksum(data: bytes) -> bytes:
    """The masked CRC-32C of `data`, 4 bytes."""
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _encode_values(values: Values) -> bytes:
    """A `tf.train.Feature` message."""
    if not values:
        return b""
    if isinstance(values[0], bytes):
        return _field(_BYTES_LIST, b"".join(_field(1, value) for value in cast(list[bytes], values)))
    if isinstance(values[0], float):
        return _field(_FLOAT_LIST, _field(1, struct.pack(f"<{len(values)}f", *values)))
    return _field(_INT64_LIST, _field(1, b"".join(_varint(value % (1 << 64)) for value in cast(list[int], values))))


def _decode_values(feature: bytes) -> Values:
    """The list in a `tf.train.Feature` message; numbers stand packed in one field or singly."""
    for kind, content in _fields(feature):
        if isinstance(content, int):
            continue
        if kind == _BYTES_LIST:
            return list(_messages(content, 1))
        if kind == _FLOAT_LIST:
            packed = b"".join(_messages(content, 1))
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        if kind == _INT64_LIST:
            return [value - (1 << 64) if value >> 63 else value for value in _integers(content)]
    return []


def _integers(message: bytes) -> Iterator[int]:
    for number, content in _fields(message):
        if number == 1 and isinstance(content, int):
            yield content
        elif number == 1 and isinstance(content, bytes):
            position = 0
            while position < len(content):
                value, position = _read_varint(content, position)
                yield value


def _messages(message: bytes, number: int) -> Iterator[bytes]:
    """The contents of the fields `number`: bytes, texts, messages or packed numbers."""
    for each, content in _fields(message):
        if each == number:
            if isinstance(content, int):
                raise ValueError(f"field {number} is an integer")
            yield content


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and content of each field. Raises ValueError if this is no protocol buffer."""
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        wire = tag & 7
        if wire == _VARINT:
            content, position = _read_varint(message, position)
            yield tag >> 3, content
            continue
        if wire == _BYTES:
            length, position = _read_varint(message, position)
        elif wire in _FIXED_LENGTHS:
            length = _FIXED_LENGTHS[wire]
        else:
            raise ValueError(f"wire type {wire} at byte {position}")
        if position + length > len(message):
            raise ValueError(f"the field at byte {position} is cut off")
        yield tag >> 3, message[position : position + length]
        position += length


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """An integer of up to 64 bits, seven bits a byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    """The integer at `position` and the position after it."""
    value = 0
    for shift, byte in zip(range(0, 70, 7), message[position : position + 10], strict=False):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position + shift // 7 + 1
    raise ValueError(f"no integer at byte {position}")
