"""Whether two Parquet files hold the same table, whoever wrote them.

Another release of another library, other row groups, another compression: other bytes, and other hashes, of the same
rows. The hash here is of the table itself: its columns' names and types in their order, and all values in theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from blake3 import blake3

_ROWS = 1 << 16  # at a time
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def table_hash(path: Path) -> str:
    """The hash of the table in a Parquet file, in hexadecimal digits; little memory at any size.

    Missing values and NaN are the same, and so are text or lists of either width, dictionaries and their values,
    and times of any unit. What a writer adds for itself (statistics, metadata of pandas) does not count. Raises
    pyarrow's ArrowException or OSError if the file can't be read.
    """
    rows = 0
    parts: dict[str, Any] = {}
    with pq.ParquetFile(path) as file:
        columns = [[field.name, _type_name(field.type)] for field in file.schema_arrow]
        for batch in file.iter_batches(_ROWS, use_threads=False):
            rows += batch.num_rows
            for number, column in enumerate(batch.columns):
                for name, content in _contents(f"{number}", column):
                    parts.setdefault(name, blake3()).update(content)
    whole = blake3(json.dumps([columns, rows]).encode())
    for name in sorted(parts):
        whole.update(f"{name}:{parts[name].hexdigest()}\n".encode())
    return whole.hexdigest()


def written_by(path: Path) -> str:
    """The program that wrote a Parquet file, as it says itself; empty if it says nothing or is none."""
    try:
        return pq.read_metadata(path).created_by or ""
    except (pa.ArrowException, OSError):
        return ""


def our_writer() -> str:
    """What `written_by` says of the files that this process writes."""
    return f"parquet-cpp-arrow version {pa.cpp_version}"


def _type_name(kind: pa.DataType) -> str:
    """A name that is equal where two writers store the same values differently."""
    if pa.types.is_dictionary(kind):
        return _type_name(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "binary"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_type_name(kind.value_type)}>"
    if pa.types.is_timestamp(kind):
        return f"timestamp<{kind.tz or ''}>"
    if pa.types.is_struct(kind):
        return "struct<" + ",".join(f"{field.name}:{_type_name(field.type)}" for field in kind) + ">"
    return str(kind)


def _contents(name: str, array: pa.Array) -> Iterator[tuple[str, bytes]]:
    """The bytes that make up `array`, in streams that go on from one batch to the next."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        yield from _contents(name, pc.cast(array, kind.value_type))
        return
    there = _are_there(array)
    yield f"{name}?", there.tobytes()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        array = array.cast(pa.large_binary())
        kind = array.type
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        values = pc.fill_null(array.cast(pa.large_binary()), b"")
        offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset :][: len(values) + 1]
        yield f"{name}#", np.diff(offsets).tobytes()
        if values.buffers()[2] is not None:
            yield f"{name}=", values.buffers()[2].slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield f"{name}#", _numbers(array.value_lengths()).astype(np.int64).tobytes()
        yield from _contents(f"{name}.", array.flatten())
    elif pa.types.is_struct(kind):
        for number, field in enumerate(array.flatten()):
            yield from _contents(f"{name}.{number}", field)
    elif pa.types.is_timestamp(kind):
        moments, per_second = _numbers(array.cast(pa.int64())), _PER_SECOND[kind.unit]
        seconds, rest = np.divmod(moments, per_second)
        yield f"{name}=", seconds.tobytes()
        yield f"{name}~", (rest * (_PER_SECOND["ns"] // per_second)).tobytes()
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = _numbers(array)
        yield f"{name}=", np.where(there, values, values.dtype.type(0)).tobytes()
    elif not pa.types.is_null(kind):  # dates, decimals, whatever is rare
        yield f"{name}=", "".join(f"{value!r}\n" for value in array.to_pylist()).encode()


def _are_there(array: pa.Array) -> np.ndarray:
    """Which values are neither missing nor NaN."""
    if pa.types.is_floating(array.type):
        return ~np.isnan(array.to_numpy(zero_copy_only=False))  # missing ones come as NaN
    return array.is_valid().to_numpy(zero_copy_only=False)


def _numbers(array: pa.Array) -> np.ndarray:
    """The values, 0 where one is missing."""
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, pa.int8()).cast(array.type))
    return array.to_numpy(zero_copy_only=False)
