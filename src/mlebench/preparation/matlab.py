"""MAT files of version 5: write small ones, and empty a field of a structure in place of a tool that knows them all.

Layout: a header of 128 bytes, then elements: kind and size, four bytes each, content, padding to eight bytes.
An array (kind 14) is made of elements itself: flags, dimensions, name, then what its class demands; of a structure
these are the length of field names, the names, and an array for each field of each item.
Source: The MathWorks, MAT-File Format, chapter 1.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlebench.errors import PreparationError

_HEADER = 128
_INT8, _UINT16, _INT32, _UINT32, _DOUBLE, _ARRAY, _COMPRESSED = 1, 4, 5, 6, 9, 14, 15
_CELLS, _STRUCT, _CHARACTERS, _DOUBLES = 1, 2, 4, 6  # classes of arrays

Value = str | float | np.ndarray | Mapping[str, "Value"] | Sequence[Mapping[str, "Value"]]


def empty_field(content: bytes, variable: str, field: str) -> bytes:
    """The MAT file `content` with the field `field` of the structure `variable` emptied: an array of 1 x 0 items.

    Raises PreparationError if the file is of another version or damaged, or there is no such field.
    """
    try:
        return _without(content, variable.encode(), field.encode())
    except (struct.error, zlib.error, ValueError, IndexError) as error:
        raise PreparationError(f"a MAT file is damaged: {error}") from error


def mat_bytes(variable: str, value: Value) -> bytes:
    """A compressed MAT file with one variable.

    A mapping is a structure, a sequence of mappings with the same keys a row of structures, an array one of
    floats with two dimensions; texts are ASCII.
    """
    header = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + struct.pack("<H", 0x0100) + b"IM"
    packed = zlib.compress(_array("<", value, variable))
    return header + struct.pack("<II", _COMPRESSED, len(packed)) + packed


# --- reading


@dataclass(frozen=True)
class _Element:
    """Its kind, what it holds, and all its bytes."""

    kind: int
    content: bytes
    whole: bytes


def _elements(data: bytes, order: str) -> Iterator[_Element]:
    place = 0
    while place < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        if kind >> 16:  # small ones have size and kind in four bytes, the content in the next four
            kind, size, start, end = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            start = place + 8
            end = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise ValueError("an element is longer than the file")
        yield _Element(kind, data[start : start + size], data[place:end])
        place = end


def _without(content: bytes, variable: bytes, field: bytes) -> bytes:
    order = {b"IM": "<", b"MI": ">"}.get(content[126:_HEADER], "<")
    if len(content) < _HEADER or struct.unpack_from(f"{order}H", content, 124) != (0x0100,):
        raise PreparationError("a MAT file is not of version 5, so its labels can't be taken out")
    parts, found = [content[:_HEADER]], False
    for element in _elements(content[_HEADER:], order):
        is_packed = element.kind == _COMPRESSED
        (array,) = _elements(zlib.decompress(element.content), order) if is_packed else (element,)
        changed = _with_empty_field(array, order, variable, field) if array.kind == _ARRAY else None
        if changed is None:
            parts.append(element.whole)
        elif is_packed:
            packed = zlib.compress(changed)
            parts.append(struct.pack(f"{order}II", _COMPRESSED, len(packed)) + packed)
        else:
            parts.append(changed)
        found |= changed is not None
    if not found:
        raise PreparationError(f"a MAT file has no field {field.decode()} in a structure {variable.decode()}")
    return b"".join(parts)


def _with_empty_field(array: _Element, order: str, variable: bytes, field: bytes) -> bytes | None:
    """The array with the field emptied; None if it is another variable, or has no such field."""
    flags, dimensions, name, *rest = _elements(array.content, order)
    if _class_of(flags, order) != _STRUCT or name.content != variable:
        return None
    length, names, *values = rest
    fields = _field_names(length, names, order)
    if field not in fields:
        return None
    items = math.prod(struct.unpack(f"{order}{len(dimensions.content) // 4}i", dimensions.content))
    if len(values) != items * len(fields):
        raise ValueError("a structure has another number of values than of fields")
    place = fields.index(field)
    kept = [
        _emptied(value, order) if number % len(fields) == place else value.whole for number, value in enumerate(values)
    ]
    return _element(
        order, _ARRAY, b"".join([*(part.whole for part in (flags, dimensions, name, length, names)), *kept])
    )


def _emptied(array: _Element, order: str) -> bytes:
    """An array of the same class, with the same fields if it is a structure, and without items."""
    if not array.content:
        return array.whole
    flags, _, name, *rest = _elements(array.content, order)
    kind = _class_of(flags, order)
    parts = [flags.whole, _element(order, _INT32, struct.pack(f"{order}ii", 1, 0)), name.whole]
    if kind == _STRUCT:
        parts += [part.whole for part in rest[:2]]
    elif kind != _CELLS:
        parts.append(_element(order, rest[0].kind, b""))
    return _element(order, _ARRAY, b"".join(parts))


def _class_of(flags: _Element, order: str) -> int:
    return struct.unpack_from(f"{order}I", flags.content)[0] & 0xFF


def _field_names(length: _Element, names: _Element, order: str) -> list[bytes]:
    (size,) = struct.unpack_from(f"{order}i", length.content)
    return [names.content[start : start + size].rstrip(b"\0") for start in range(0, len(names.content), size)]


# --- writing


def _element(order: str, kind: int, content: bytes) -> bytes:
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def _array(order: str, value: Value, name: str = "") -> bytes:
    if isinstance(value, str):
        rows, columns, kind = int(bool(value)), len(value), _CHARACTERS
        content = _element(order, _UINT16, struct.pack(f"{order}{len(value)}H", *value.encode("ascii")))
    elif isinstance(value, Mapping | Sequence):
        items = [value] if isinstance(value, Mapping) else value
        rows, columns, kind = 1, len(items), _STRUCT
        content = _structure(order, items)
    else:
        numbers = np.atleast_2d(np.asarray(value, dtype=np.float64))
        (rows, columns), kind = numbers.shape, _DOUBLES
        content = _element(order, _DOUBLE, numbers.astype(f"{order}f8").tobytes("F"))
    head = [
        _element(order, _UINT32, struct.pack(f"{order}II", kind, 0)),
        _element(order, _INT32, struct.pack(f"{order}ii", rows, columns)),
        _element(order, _INT8, name.encode()),
    ]
    return _element(order, _ARRAY, b"".join(head) + content)


def _structure(order: str, items: Sequence[Mapping[str, Value]]) -> bytes:
    fields = list(items[0]) if items else []
    size = max([len(field) for field in fields], default=0) + 1
    names = b"".join(field.encode().ljust(size, b"\0") for field in fields)
    parts = [_element(order, _INT32, struct.pack(f"{order}i", size)), _element(order, _INT8, names)]
    return b"".join([*parts, *(_array(order, item[field]) for item in items for field in fields)])
