"""Google's generateContent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlebench.testing.conversation import Message, Reply, Request, Tool, ToolCall, Use, pieces
from mlebench.testing.dialects.common import Event, identifier, listed

_FINISH = {"stop": "STOP", "tools": "STOP", "length": "MAX_TOKENS"}


def read(body: Mapping[str, Any], model: str, stream: bool) -> Request:
    """The request in no dialect. Model and streaming stand in the path."""
    messages = [message for spoken in body.get("contents") or [] for message in _messages(spoken)]
    system = body.get("systemInstruction") or body.get("system_instruction") or {}
    settings = body.get("generationConfig") or {}
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = calling.get("allowedFunctionNames") or []
    return Request(
        dialect="google",
        model=model,
        system="\n".join(_texts(system)),
        messages=tuple(messages),
        tools=tuple(tool for offered in body.get("tools") or [] for tool in _tools(offered)),
        forced_tool=allowed[0] if calling.get("mode") == "ANY" and len(allowed) == 1 else None,
        stop=listed(settings.get("stopSequences")),
        stream=stream,
        max_tokens=settings.get("maxOutputTokens"),
        body=body,
    )


def _texts(content: Any) -> list[str]:
    parts = content.get("parts") or [] if isinstance(content, Mapping) else [{"text": str(content)}]
    parts = [parts] if isinstance(parts, Mapping) else parts
    return [part["text"] for part in parts if part.get("text") and not part.get("thought")]


def _messages(spoken: Mapping[str, Any]) -> Iterator[Message]:
    for part in spoken.get("parts") or []:
        if "functionResponse" in part:
            response = part["functionResponse"]
            said = response.get("response") or {}
            text = said.get("output") or said.get("error") or str(said)
            yield Message("tool", str(text), answers=response.get("id") or response.get("name", ""))
    calls = [part["functionCall"] for part in spoken.get("parts") or [] if "functionCall" in part]
    texts = _texts(spoken)
    if texts or calls:
        role = {"model": "assistant"}.get(spoken.get("role", "user"), "user")
        made = tuple(ToolCall(call["name"], call.get("args") or {}, call.get("id", "")) for call in calls)
        yield Message(role, "\n".join(texts), made)


def _tools(offered: Mapping[str, Any]) -> Iterator[Tool]:
    for kind, content in offered.items():
        if kind in ("functionDeclarations", "function_declarations"):
            for each in content:
                schema = each.get("parametersJsonSchema") or each.get("parameters") or {}
                yield Tool(each["name"], each.get("description") or "", schema)
        else:
            yield Tool(kind, kind=kind)


def write(request: Request, reply: Reply, use: Use) -> dict[str, Any]:
    """The whole answer."""
    return _response(request, _parts(reply), _finish(reply), use)


def events(request: Request, reply: Reply, use: Use) -> Iterator[Event]:
    """The answer as responses that each hold a part of it; the last one tells why it ends."""
    short = [{**part, "text": piece} for part in _parts(reply) if "text" in part for piece in pieces(part["text"])]
    parts = [*short, *(part for part in _parts(reply) if "text" not in part)] or [{"text": ""}]
    for part in parts[:-1]:
        yield None, _response(request, [part], None, None)
    yield None, _response(request, parts[-1:], _finish(reply), use)


def _response(request: Request, parts: list[dict[str, Any]], finish: str | None, use: Use | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    response: dict[str, Any] = {"candidates": [candidate]}
    if use:
        response["usageMetadata"] = usage(use)
    return {**response, "modelVersion": request.model, "responseId": identifier("resp", request)}


def _parts(reply: Reply) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    # A call that is no JSON never leaves Google: the answer says MALFORMED_FUNCTION_CALL instead.
    calls = [(call.name, call.parsed) for call in reply.calls]
    return parts + [{"functionCall": {"name": name, "args": found}} for name, found in calls if found is not None]


def _finish(reply: Reply) -> str:
    malformed = any(call.parsed is None for call in reply.calls)
    return "MALFORMED_FUNCTION_CALL" if malformed else _FINISH[reply.ending]


def usage(use: Use) -> dict[str, Any]:
    """Tokens as Google counts them: cached ones are part of the prompt, thoughts stand beside the candidates."""
    return {
        "promptTokenCount": use.input_tokens,
        "cachedContentTokenCount": use.cached_tokens,
        "candidatesTokenCount": use.output_tokens - use.reasoning_tokens,
        "thoughtsTokenCount": use.reasoning_tokens,
        "totalTokenCount": use.input_tokens + use.output_tokens,
    }
