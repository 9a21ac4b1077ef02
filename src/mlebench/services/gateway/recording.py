"""The record of all calls of an attempt: a line of JSON each, written whole."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Recorder:
    """Appends lines to a file. Each is one write, so a killed process leaves at most its last line broken."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if _ends_within_a_line(path):
            os.write(self._handle, b"\n")

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry."""
        line = (json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n").encode()
        with self._lock:
            while line:  # the kernel takes at most 2 GiB, or what the disk has left
                line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1


def _ends_within_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_recording(path: Path) -> Iterator[dict[str, Any]]:
    """The calls in gateway.jsonl, in the order in which they ended; a line that broke off is skipped."""
    for _, entry in read_places(path):
        yield entry


def read_places(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same with the offset of each line."""
    with path.open("rb") as file:
        place = 0
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            if isinstance(entry, dict):
                yield place, entry
            place += len(line)


def body_fields(body: bytes) -> dict[str, str]:
    """A body as a field of JSON: as text where it is UTF-8."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def recorded_body(response: Mapping[str, Any]) -> bytes:
    """The bytes that `body_fields` put away."""
    if "body_base64" in response:
        return base64.b64decode(response["body_base64"])
    return str(response["body"]).encode()
