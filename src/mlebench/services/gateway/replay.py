"""Answers out of a recording, so that an attempt can be run again without a model and without a key."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlebench.errors import UsageError
from mlebench.services.gateway.dialects import Route
from mlebench.services.gateway.recording import read_places

# What differs from run to run without a meaning for the model.
VOLATILE_KEYS = frozenset(
    (
        "model",
        "stream",
        "stream_options",
        "user",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
    )
)
_VOLATILE_TEXTS = (
    (re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\d\d:\d\d:\d\d([.,]\d+)?"), "<time>"),
    (re.compile(r"(?<![\w.])(/private)?(/var)?/tmp/[\w.+-]+"), "<temporary>"),
)
TOOL_KEYS = ("tools", "functions")


def request_key(route: Route, stream: bool, model: str, body: Mapping[str, Any]) -> str:
    """A hash that equal requests share: of the model that was used and everything that it is shown.

    Left out are the keys of `VOLATILE_KEYS`; in texts, unique ids, times and names below /tmp count as equal.
    """
    content = {key: value for key, value in body.items() if key not in VOLATILE_KEYS}
    text = json.dumps([route.dialect, route.operation, stream, model, content], sort_keys=True)
    for pattern, word in _VOLATILE_TEXTS:
        text = pattern.sub(word, text)
    return hashlib.sha256(text.encode()).hexdigest()


def request_shape(route: Route, stream: bool, model: str, body: Mapping[str, Any]) -> str:
    """A hash that similar requests share: model, kinds of messages in their order, names of tools; no texts."""
    messages = next((body[key] for key in ("messages", "input", "contents") if key in body), None)
    kinds = [_kind(each) for each in messages] if isinstance(messages, list) else None
    tools = sorted(json.dumps(_tool_name(each)) for key in TOOL_KEYS for each in _listed(body.get(key)))
    text = json.dumps([route.dialect, route.operation, stream, model, kinds, tools])
    return hashlib.sha256(text.encode()).hexdigest()


def _kind(message: Any) -> list[str]:
    if not isinstance(message, dict):
        return [type(message).__name__]
    return [str(message.get(key)) for key in ("role", "type")]


def _tool_name(tool: Any) -> list[Any]:
    if not isinstance(tool, dict):
        return []
    function = tool.get("function") if isinstance(tool.get("function"), dict) else tool
    declared = _listed(tool.get("functionDeclarations") or tool.get("function_declarations"))
    names = [each.get("name") for each in declared if isinstance(each, dict)]
    return [str(tool.get("type")), str((function or {}).get("name")), *map(str, names)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class Replay:
    """The answers of a recording that have not been given yet. Not to be shared between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, deque[int]] = {}
        self._by_shape: dict[str, deque[int]] = {}
        self._given: set[int] = set()
        try:
            for place, entry in read_places(path):
                if entry.get("response") and "key" in entry:
                    self._places.setdefault(entry["key"], deque()).append(place)
                    self._by_shape.setdefault(entry["shape"], deque()).append(place)
        except OSError as error:
            raise UsageError(f"{path} can't be read: {error}") from error
        if not self._places:
            raise UsageError(f"{path} has no recorded answers")

    def take(self, key: str, shape: str) -> tuple[dict[str, Any], bool] | None:
        """The recorded call to answer with, and whether its request was the same; None if there is none left.

        Equal requests are answered in recorded order; else it is the next of the same shape.
        """
        for places, exact in ((self._places.get(key), True), (self._by_shape.get(shape), False)):
            while places:
                place = places.popleft()
                if place not in self._given:
                    self._given.add(place)
                    return self._read(place), exact
        return None

    def _read(self, place: int) -> dict[str, Any]:
        with self._path.open("rb") as file:
            file.seek(place)
            return json.loads(file.readline())
