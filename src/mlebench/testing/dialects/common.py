"""What the dialects share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mlebench.testing.conversation import Request

Event = tuple[str | None, Mapping[str, Any] | str]  # its name, its data


def flat_text(content: Any) -> str:
    """The text of a message's content: a string, a list of parts, or nothing."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(filter(None, map(flat_text, content)))
    if isinstance(content, Mapping):
        return flat_text(content.get("text") or content.get("content") or content.get("output"))
    return str(content)


def listed(value: Any) -> tuple[str, ...]:
    """A string or a list of strings as a tuple; empty strings are left out."""
    values = [value] if isinstance(value, str) else value or []
    return tuple(each for each in values if each)


def identifier(prefix: str, request: Request, number: int = 0) -> str:
    """A name for a part of the answer: different from request to request, the same in every replay."""
    said = json.dumps([request.model, request.number, number, len(request.messages)])
    return f"{prefix}_{hashlib.sha256((prefix + said).encode()).hexdigest()[:24]}"
