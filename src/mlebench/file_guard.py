"""Looking at a CSV file as bytes, so that a hostile one is refused before a parser sees it.

Read once, in blocks: the cost is a fraction of the parser's, the memory is one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_LINE_BYTES = 256 << 20  # a cell may hold the run-length mask of a very large picture
MAX_HEADER_BYTES = 1 << 20
MAX_COLUMNS = 10_000
_BLOCK = 4 << 20


@dataclass(frozen=True)
class FileFault:
    """What is wrong with a file, and what was expected."""

    kind: str
    message: str
    expected: str


def find_fault(path: Path, max_bytes: int, max_fields: int) -> FileFault | None:
    """The first reason not to parse the file, or None.

    `max_fields` bounds the number of commas in the whole file, and with it the memory of a parser.
    """
    if not path.is_file():
        return FileFault("no file", f"there is no file {path.name}", "a CSV file")
    size = path.stat().st_size
    if size == 0:
        return FileFault("empty file", f"{path.name} is empty", "a CSV file with a header line")
    if size > max_bytes:
        return FileFault("too large", f"{path.name} has {size:,} bytes", f"at most {max_bytes:,}")
    return _fault_in_blocks(_blocks(path), path.name, max_fields)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _fault_in_blocks(blocks: Iterator[bytes], name: str, max_fields: int) -> FileFault | None:
    line = fields = 0  # bytes of the line under way, commas so far
    for number, block in enumerate(blocks):
        if b"\0" in block:
            return FileFault("not text", f"{name} holds zero bytes", "a CSV file in UTF-8")
        if number == 0 and (fault := _header_fault(block, name)):
            return fault
        fields += block.count(b",")
        if fields > max_fields:
            return FileFault("too many cells", f"{name} has over {max_fields:,} cells", "the cells asked for")
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if line + (len(block) if first < 0 else first) > MAX_LINE_BYTES:
            return FileFault("line too long", f"a line has over {MAX_LINE_BYTES:,} bytes", "shorter lines")
        line = line + len(block) if last < 0 else len(block) - last - 1
    return None


def _header_fault(block: bytes, name: str) -> FileFault | None:
    line = block.split(b"\n", 1)[0].split(b"\r", 1)[0]
    if len(line) > MAX_HEADER_BYTES:
        return FileFault("header too long", f"the first line has over {MAX_HEADER_BYTES:,} bytes", "names of columns")
    try:
        columns = line.decode("utf-8-sig").count(",") + 1
    except UnicodeDecodeError:
        return FileFault("not text", f"the first line of {name} is not UTF-8", "a CSV file in UTF-8")
    if columns > MAX_COLUMNS:
        return FileFault("too many columns", f"the header has {columns:,} columns", f"at most {MAX_COLUMNS:,}")
    return None
