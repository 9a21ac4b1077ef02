"""The languages of model servers: their paths, how they say that something is wrong, how they keep a client waiting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OPENAI_OPERATIONS = {
    ("chat", "completions"): "openai-chat",
    ("responses",): "openai-responses",
    ("completions",): "openai-completions",
    ("embeddings",): "openai-embeddings",
}
PREFIXES = ("v1", "v1beta", "v1alpha", "v1beta1", "openai", "anthropic")
GOOGLE_VERSIONS = ("v1", "v1beta", "v1alpha", "v1beta1")
_GOOGLE_CALL = re.compile(r"models/(?P<model>.+):(?P<verb>generateContent|streamGenerateContent|countTokens)")


@dataclass(frozen=True)
class Route:
    """What a path asks for: `call` (an answer of a model), `count` (of tokens), `models` or `health`.

    Where the path names model, version and streaming (google), they are here; elsewhere the request names them.
    """

    dialect: str
    operation: str
    model: str | None = None
    version: str = ""
    stream: bool = False
    sse: bool = True  # a stream is one of events; else, google's, a JSON list


def find_route(path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Route | None:
    """What is asked for; None if it is nothing that a gateway serves. Clients put various prefixes before a path."""
    parts = [part for part in path.split("/") if part]
    version = "v1beta"
    while parts and parts[0] in PREFIXES:
        version = parts[0] if parts[0] in GOOGLE_VERSIONS else version
        parts.pop(0)
    if tuple(parts) in OPENAI_OPERATIONS:
        return Route(OPENAI_OPERATIONS[tuple(parts)], "call")
    if parts == ["messages"]:
        return Route("anthropic", "call")
    if parts == ["messages", "count_tokens"]:
        return Route("anthropic", "count")
    if parts == ["health"]:
        return Route("openai-chat", "health")
    if match := _GOOGLE_CALL.fullmatch("/".join(parts)):
        stream = match["verb"] == "streamGenerateContent"
        operation = "count" if match["verb"] == "countTokens" else "call"
        return Route("google", operation, match["model"], version, stream, query.get("alt") == "sse")
    if parts and parts[0] == "models":
        dialect = "google" if version != "v1" else guess_dialect(path, headers)
        return Route(dialect, "models", "/".join(parts[1:]) or None, version)
    return None


def guess_dialect(path: str, headers: Mapping[str, str]) -> str:
    """The dialect of a client whose request could be anybody's, to answer it in its own form."""
    if "x-goog-api-key" in headers or ":" in path or "/v1beta" in path:
        return "google"
    if "anthropic-version" in headers or "x-api-key" in headers or "/messages" in path:
        return "anthropic"
    return "openai-chat"


def stop_status(dialect: str) -> int:
    """The status that makes clients of a dialect give up instead of trying again."""
    return 403 if dialect in ("anthropic", "google") else 401


_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    500: "api_error",
}
_GOOGLE_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    500: "INTERNAL",
}


def error_document(dialect: str, status: int, code: str, message: str) -> dict[str, Any]:
    """An error in the form of a dialect; `code` is one of the gateway's own words."""
    if dialect == "anthropic":
        kind = _ANTHROPIC_TYPES.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}
    if dialect == "google":
        state = _GOOGLE_STATES.get(status, "FAILED_PRECONDITION")
        return {"error": {"code": status, "message": message, "status": state}}
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event(dialect: str, document: Mapping[str, Any]) -> bytes:
    """An error as the event of a stream that has begun already."""
    if dialect == "openai-responses":
        error = document.get("error")
        said = error if isinstance(error, dict) else {}
        event = {"type": "error", "sequence_number": 0, "code": said.get("code"), "message": said.get("message")}
        event |= {"param": None, "error": said}  # as an event, and as what OpenAI's client raises
        return b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"
    prefix = b"event: error\n" if dialect == "anthropic" else b""
    return prefix + b"data: " + json.dumps(document).encode() + b"\n\n"


def waiting(dialect: str, events: bool) -> bytes:
    """What a client that waits may be sent without harm.

    Google's Python client takes a comment for a broken answer, but skips empty lines.
    """
    if not events or dialect == "google":
        return b"\n"  # before a JSON document space is free
    if dialect == "anthropic":
        return b'event: ping\ndata: {"type": "ping"}\n\n'
    return b": waiting\n\n"


def model_list(dialect: str, names: list[str]) -> dict[str, Any]:
    """The answer to who asks which models there are."""
    if dialect == "google":
        methods = ["generateContent", "countTokens"]
        return {"models": [{"name": f"models/{each}", "supportedGenerationMethods": methods} for each in names]}
    if dialect == "anthropic":
        entries = [
            {"type": "model", "id": each, "display_name": each, "created_at": "1970-01-01T00:00:00Z"} for each in names
        ]
        return {
            "data": entries,
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    entries = [{"id": each, "object": "model", "created": 0, "owned_by": "mlebench"} for each in names]
    return {"object": "list", "data": entries}


def one_model(dialect: str, name: str) -> dict[str, Any]:
    """The answer to who asks for one model."""
    listed = model_list(dialect, [name])
    return listed["models" if dialect == "google" else "data"][0]
