"""What an upstream's answer is worth: to be handed on, to be asked for again, or the end of the attempt."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mlebench.services.gateway.dialects import Route
from mlebench.services.gateway.streams import Event, read_events

TRANSIENT = (408, 409, 425, 429)
SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
MAX_QUOTE = 300
ENDINGS = ("response.completed", "response.incomplete", "response.failed", "error")
TRANSIENT_WORDS = re.compile(
    r"overloaded|server_error|api_error|rate_limit|timeout|unavailable|internal", re.IGNORECASE
)
NO_CREDIT = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low|billing_error", re.IGNORECASE)
BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What an upstream sent, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """Of the body."""
        return self.headers.get("content-type", "application/json")


@dataclass(frozen=True)
class Judgement:
    """`action` is deliver, retry or fatal; `documents` is the JSON of the answer or of its events."""

    action: str
    reason: str = ""
    wait: float | None = None  # seconds that the upstream asks for
    documents: list[Any] = field(default_factory=list)
    events: list[Event] | None = None


def judge(answer: Answer, route: Route, stream: bool) -> Judgement:
    """What to do with an answer."""
    if 200 <= answer.status < 300:
        return _judge_success(answer, route, stream)
    text = answer.body[:100_000].decode(errors="replace")
    said = f"HTTP {answer.status}: {quote(text)}"
    if answer.status < 400:
        return Judgement("fatal", f"it leads elsewhere ({said}); its url must be where it answers")
    if answer.status in (401, 402) or NO_CREDIT.search(text) or BAD_KEY.search(text):
        return Judgement("fatal", f"it refuses the key or the account behind it ({said})")
    if answer.status == 403 and not _is_moderation(text):
        return Judgement("fatal", f"it refuses the key or the account behind it ({said})")
    if answer.status in (404, 405) and _is_unknown_model(route, text):
        return Judgement("fatal", f"it doesn't know the model or the path ({said})")
    if answer.status in TRANSIENT or (answer.status >= 500 and answer.status != 501):
        return Judgement("retry", said, retry_after(answer))
    return Judgement("deliver", documents=[])


def _judge_success(answer: Answer, route: Route, stream: bool) -> Judgement:
    events = None
    try:
        if stream:
            events = read_events(answer.body)
            documents = [event.document for event in events if not event.is_done]
        else:
            content = json.loads(answer.body)
            documents = content if isinstance(content, list) else [content]
    except ValueError:
        return Judgement("retry", f"its answer can't be read: {quote(answer.body[:1000].decode(errors='replace'))}")
    for document in documents:
        fault = fault_in(document)
        if fault is not None and _is_transient(fault):
            return Judgement("retry", f"it broke off: {quote(json.dumps(fault))}")
        if fault is not None:
            return Judgement("deliver", documents=documents, events=events)
    if not _is_whole(route, documents, events):
        return Judgement("retry", "its answer broke off before its end")
    return Judgement("deliver", documents=documents, events=events)


def fault_in(document: Any) -> Mapping[str, Any] | None:
    """The error that an answer with status 200 carries."""
    if not isinstance(document, dict):
        return None
    response = document.get("response") if str(document.get("type")).startswith("response.") else document
    error = response.get("error") if isinstance(response, dict) else None
    if isinstance(error, dict) and error:
        return error
    return document if document.get("type") == "error" else None


def _is_transient(fault: Mapping[str, Any]) -> bool:
    code = fault.get("code")
    if isinstance(code, int) or (isinstance(code, str) and code.isdigit()):
        return int(code) in TRANSIENT or int(code) >= 500
    return any(TRANSIENT_WORDS.search(str(fault.get(key, ""))) for key in ("type", "code", "status"))


def _is_whole(route: Route, documents: list[Any], events: list[Event] | None) -> bool:
    """Whether nothing is missing at the end."""
    objects = [each for each in documents if isinstance(each, dict)]
    if not objects:
        return False
    if route.dialect == "google" and route.operation == "call":
        return any(_google_end(each) for each in objects)
    if events is None:
        return True
    if route.dialect == "anthropic":
        return any(each.get("type") == "message_stop" for each in objects)
    if route.dialect == "openai-responses":
        return any(each.get("type") in ENDINGS for each in objects)
    return any(event.is_done for event in events) or any(_finish_reason(each) for each in objects)


def _google_end(document: Mapping[str, Any]) -> bool:
    candidates = document.get("candidates")
    ended = isinstance(candidates, list) and any(
        isinstance(each, dict) and each.get("finishReason") for each in candidates
    )
    return ended or bool(document.get("promptFeedback"))


def _finish_reason(document: Mapping[str, Any]) -> bool:
    choices = document.get("choices")
    return isinstance(choices, list) and any(isinstance(each, dict) and each.get("finish_reason") for each in choices)


def _is_moderation(text: str) -> bool:
    """OpenRouter says 403 to a prompt that it doesn't like."""
    return "flagged_input" in text or "requires moderation" in text


def _is_unknown_model(route: Route, text: str) -> bool:
    """Only items that the request itself names can be missing by the agent's doing."""
    if route.operation != "call":
        return False
    return route.dialect != "openai-responses" or "model" in text.lower() or "item" not in text.lower()


def retry_after(answer: Answer, now: datetime | None = None) -> float | None:
    """How many seconds an upstream wants to be left alone, if it says so.

    >>> retry_after(Answer(429, {"retry-after": "7"}, b""))
    7.0
    """
    headers = answer.headers
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / scale
        except (KeyError, ValueError):
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    if "retry-after" in headers:
        try:
            until = parsedate_to_datetime(headers["retry-after"])
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
    match = re.search(r'"retryDelay"\s*:\s*"' + SECONDS.pattern + '"', answer.body[:100_000].decode(errors="replace"))
    return float(match[1]) if match else None


def quote(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTE else line[:MAX_QUOTE] + "…"
