"""A request of an agent: read with care, and what is known of it on its way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mlebench.services.gateway.calls import Progress
from mlebench.services.gateway.config import Model
from mlebench.services.gateway.dialects import Route

MAX_BODY_BYTES = 64 << 20
MAX_DEPTH = 100
MAX_CONTAINERS = 500_000  # objects and lists: in memory each takes many times its two bytes


@dataclass(frozen=True)
class Reply:
    """What a client gets."""

    status: int
    body: bytes
    content_type: str = "application/json"


def json_reply(document: Mapping[str, Any], status: int = 200) -> Reply:
    """A document of the gateway's own."""
    return Reply(status, json.dumps(document).encode())


class Rejection(Exception):
    """A request that is answered by the gateway itself, with an error; it is recorded as refused."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True)
class Prepared:
    """A request that may be relayed; `body` is without what was removed."""

    asked: str
    model: Model
    stream: bool
    key: str
    shape: str
    removed: list[str]
    body: dict[str, Any]


@dataclass
class Call:
    """A request on its way."""

    route: Route
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    prepared: Prepared
    original: Any
    size: int
    started: float
    progress: Progress = field(default_factory=Progress)
    dollars: float | None = None
    replay: str | None = None
    begun: bool = False

    def entry(self) -> dict[str, Any]:
        """What the recording says of it, but for request and answer."""
        prepared, progress = self.prepared, self.progress
        entry = {
            "dialect": self.route.dialect,
            "path": self.path,
            "asked": prepared.asked,
            "model": prepared.model.full_name,
            "stream": prepared.stream,
            "key": prepared.key,
            "shape": prepared.shape,
            "removed": prepared.removed,
            "seconds": round(time.monotonic() - self.started, 3),
            "lost_seconds": round(progress.lost_seconds, 3),
            "tries": progress.tries,
            "faults": progress.faults,
            "adapted": progress.adapted,
        }
        return entry | ({"replay": self.replay} if self.replay else {})


class Room:
    """Memory of the host for requests that are read or answered; those for which there is none wait unread."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def taken(self, size: int) -> AsyncIterator[None]:
        """Take so many bytes, as soon as there are as many, until the block is left."""
        while self._left < size:
            self._freed.clear()
            await self._freed.wait()
        self._left -= size
        try:
            yield
        finally:
            self._left += size
            self._freed.set()


def read_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in a body. Raises Rejection for anything else; NaN and infinity are no JSON."""
    if raw.count(b"{") + raw.count(b"[") > MAX_CONTAINERS:
        raise Rejection(413, "too_large", f"the request has more than {MAX_CONTAINERS:,} objects and lists")
    try:
        content = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Rejection(400, "invalid_request", f"the request is no JSON: {str(error)[:200]}") from error
    if not isinstance(content, dict):
        raise Rejection(400, "invalid_request", "the request is no JSON object")
    if _is_deeper(content, MAX_DEPTH):
        raise Rejection(400, "invalid_request", f"the request is nested more than {MAX_DEPTH} deep")
    return content


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _is_deeper(content: Any, depth: int) -> bool:
    level = [content]
    for _ in range(depth):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
