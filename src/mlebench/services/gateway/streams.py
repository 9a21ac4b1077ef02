"""Streams of server-sent events, read whole."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Event:
    """One event: its bytes as they came, the JSON in it (None if there is none), and whether it is `[DONE]`."""

    raw: bytes
    document: Any
    is_done: bool


def read_events(body: bytes) -> list[Event]:
    """The events of a stream that carry data, as bytes that join to the stream without its comments.

    Raises ValueError if one holds what is no JSON.

    >>> [event.document for event in read_events(b': hi\\n\\ndata: {"a": 1}\\n\\ndata: [DONE]\\n\\n')]
    [{'a': 1}, None]
    """
    events = []
    start = 0
    for end in [*_EVENT_END.finditer(body), None]:
        raw = body[start : end.end() if end else len(body)]
        start = end.end() if end else len(body)
        data = b"\n".join(
            line[5:].removeprefix(b" ") for line in _LINE_END.split(raw) if line.startswith(b"data:")
        ).strip()
        if data == b"[DONE]":
            events.append(Event(raw, None, True))
        elif data:
            events.append(Event(raw, json.loads(data), False))
    return events


def readable_events(body: bytes) -> list[Event]:
    """As far as the stream can be read: for one that broke off."""
    whole = max((match.end() for match in _EVENT_END.finditer(body)), default=0)
    try:
        return read_events(body[:whole])
    except ValueError:
        return []
