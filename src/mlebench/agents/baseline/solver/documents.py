"""Tables from JSON, JSON lines and BSON documents; the pictures that BSON documents hold become files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from .pictures import ending_of

SUFFIXES = {".json", ".jsonl", ".bson"}
MOST_IN_A_FOLDER = 12
MOST_BYTES = 1 << 30
MOST_ROWS = 400_000
Row = dict[str, object]


def write_tables(path: Path, folder: Path) -> None:
    """Write the lists of objects of a document as CSV tables into `folder`; nothing if there are none."""
    if path.suffix.lower() == ".bson":
        return write_table(list(bson_rows(path, folder / path.stem)), folder / f"{path.stem}.csv")
    if path.stat().st_size > MOST_BYTES:
        return None
    for name, rows in json_tables(path).items():
        write_table(rows, folder / f"{path.stem}{name}.csv")
    return None


def write_table(rows: list[Row], target: Path) -> None:
    """Write rows as a table; lists and objects in cells as JSON."""
    if len(rows) < 2 or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    flat = [{key: plain(value) for key, value in row.items()} for row in rows]
    pd.DataFrame(flat).to_csv(target, index=False)


def plain(value: object) -> object:
    """A cell for a value."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def json_tables(path: Path) -> dict[str, list[Row]]:
    """The tables of a file by what is added to its name: a list of objects, or lists of such under keys."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        content = json.loads(text)
    except ValueError:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, list):
        return {"": content} if content and all(isinstance(row, dict) for row in content) else {}
    if not isinstance(content, dict):
        return {}
    lists = {key: value for key, value in content.items() if is_table(value)}
    if "images" in lists:
        return {"": beside(lists["images"], lists.get("annotations", []))}
    return {f".{key}": rows for key, rows in lists.items()}


def is_table(value: object) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) for row in value)


def beside(images: list[Row], annotations: list[Row]) -> list[Row]:
    """Annotations, each with what is known of its image; the images alone if there are no annotations."""
    if not annotations:
        return images
    known = {str(image.get("id", image.get("image_id"))): image for image in images}
    rows = []
    for annotation in annotations:
        image = known.get(str(annotation.get("image_id")), {})
        rows.append({**image, **{key: value for key, value in annotation.items() if key != "id"}})
    return rows


# --- BSON


def bson_rows(path: Path, folder: Path) -> Iterator[Row]:
    """The documents of a file; the first picture of each is written to `folder`, named by the document's number."""
    with path.open("rb") as file:
        for number in range(MOST_ROWS):
            head = file.read(4)
            if len(head) < 4:
                return
            row = bson_document(head + file.read(struct.unpack("<i", head)[0] - 4), 0)[0]
            name = row.get("_id", number)
            picture = first_bytes(row)
            if picture is not None:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{name}{ending_of(picture)}").write_bytes(picture)
            yield {key: value for key, value in row.items() if not isinstance(value, dict | bytes)}


def first_bytes(value: object) -> bytes | None:
    """The first run of bytes within a document."""
    if isinstance(value, bytes):
        return value
    for part in value.values() if isinstance(value, dict) else ():
        found = first_bytes(part)
        if found is not None:
            return found
    return None


def bson_document(data: bytes, start: int) -> tuple[Row, int]:
    """The document (or the list, as a document) that begins at `start`, and where it ends."""
    end = start + struct.unpack_from("<i", data, start)[0]
    place, row = start + 4, {}
    while data[place]:
        kind = data[place]
        name_end = data.index(b"\0", place + 1)
        name = data[place + 1 : name_end].decode()
        row[name], place = bson_value(kind, data, name_end + 1)
    return row, end


def bson_value(kind: int, data: bytes, place: int) -> tuple[object, int]:
    """A value and where the next element begins; ValueError for a kind that is not understood."""
    fixed = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x11: "<q", 0x12: "<q"}
    if kind in fixed:
        return struct.unpack_from(fixed[kind], data, place)[0], place + struct.calcsize(fixed[kind])
    if kind in (0x03, 0x04):
        return bson_document(data, place)
    size = struct.unpack_from("<i", data, place)[0] if kind in (0x02, 0x05) else 0
    if kind == 0x02:
        return data[place + 4 : place + 3 + size].decode(errors="replace"), place + 4 + size
    if kind == 0x05:
        return data[place + 5 : place + 5 + size], place + 5 + size
    if kind == 0x07:
        return data[place : place + 12].hex(), place + 12
    if kind == 0x0A:
        return None, place
    raise ValueError(f"BSON elements of kind {kind:#x} are not understood")
