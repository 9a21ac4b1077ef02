"""OpenAI's responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlebench.testing.conversation import Message, Reply, Request, Tool, ToolCall, Use, pieces
from mlebench.testing.dialects.chat import CREATED
from mlebench.testing.dialects.common import Event, flat_text, identifier

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_ANSWERS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def read(body: Mapping[str, Any]) -> Request:
    """The request in no dialect."""
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system = [body.get("instructions") or ""]
    messages = []
    for item in items:
        if item.get("role") in ("system", "developer"):
            system.append(flat_text(item.get("content")))
        elif (message := _message(item)) is not None:
            messages.append(message)
    choice = body.get("tool_choice")
    return Request(
        dialect="openai-responses",
        model=body.get("model", ""),
        system="\n\n".join(filter(None, system)),
        messages=tuple(messages),
        tools=tuple(_tools(body.get("tools") or [])),
        forced_tool=choice.get("name") if isinstance(choice, dict) else None,
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_output_tokens"),
        body=body,
    )


def _message(item: Mapping[str, Any]) -> Message | None:
    kind = item.get("type", "message")
    if kind in _CALLS:
        said = item.get("arguments") or item.get("input") or ""
        return Message("assistant", calls=(ToolCall(item.get("name", kind), said, item.get("call_id", "")),))
    if kind in _ANSWERS:
        return Message("tool", flat_text(item.get("output")), answers=item.get("call_id", ""))
    if kind == "message":
        return Message(item.get("role", "user"), flat_text(item.get("content")))
    return None


def _tools(offered: list[Mapping[str, Any]]) -> Iterator[Tool]:
    for each in offered:
        kind = each.get("type", "function")
        if kind == "namespace":
            yield from _tools(each.get("tools") or [])
        else:
            yield Tool(each.get("name", kind), each.get("description") or "", each.get("parameters") or {}, kind)


def write(request: Request, reply: Reply, use: Use) -> dict[str, Any]:
    """The whole answer."""
    cut_short = reply.ending == "length"
    return {
        **_head(request),
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "output": _items(request, reply),
        "usage": usage(use),
    }


def events(request: Request, reply: Reply, use: Use) -> Iterator[Event]:
    """The answer as named events, numbered from 0."""
    for number, (name, data) in enumerate(_unnumbered(request, reply, use)):
        yield name, {"type": name, "sequence_number": number, **data}


def _unnumbered(request: Request, reply: Reply, use: Use) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**_head(request), "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(_items(request, reply)):
        yield from _item_events(index, item)
    whole = write(request, reply, use)
    yield f"response.{whole['status']}", {"response": whole}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}
    started = {**item, **empty[item["type"]], "status": "in_progress"}
    yield "response.output_item.added", {"output_index": index, "item": started}
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        yield from _text_events({**place, "content_index": 0}, item["content"][0])
    elif item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", {**place, "delta": piece}
        yield (
            "response.function_call_arguments.done",
            {**place, "name": item["name"], "arguments": item["arguments"]},
        )
    else:
        yield from _summary_events({**place, "summary_index": 0}, item["summary"][0])
    yield "response.output_item.done", {"output_index": index, "item": item}


def _text_events(place: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _summary_events(place: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.reasoning_summary_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.reasoning_summary_text.delta", {**place, "delta": piece}
    yield "response.reasoning_summary_text.done", {**place, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**place, "part": part}


def _head(request: Request) -> dict[str, Any]:
    body = request.body
    return {
        "id": identifier("resp", request),
        "object": "response",
        "created_at": CREATED,
        "model": request.model,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "parallel_tool_calls": bool(body.get("parallel_tool_calls", True)),
        "temperature": body.get("temperature"),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
    }


def _items(request: Request, reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"id": identifier("rs", request), "type": "reasoning", "summary": summary})
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}]
        item = {"id": identifier("msg", request), "type": "message", "role": "assistant", "content": content}
        items.append({**item, "status": "completed"})
    for number, call in enumerate(reply.calls):
        item = {"id": identifier("fc", request, number), "type": "function_call", "name": call.name}
        item |= {"call_id": call.id or identifier("call", request, number), "arguments": call.json}
        items.append({**item, "status": "completed"})
    return items


def usage(use: Use) -> dict[str, Any]:
    """Tokens as responses count them."""
    return {
        "input_tokens": use.input_tokens,
        "input_tokens_details": {"cached_tokens": use.cached_tokens},
        "output_tokens": use.output_tokens,
        "output_tokens_details": {"reasoning_tokens": use.reasoning_tokens},
        "total_tokens": use.input_tokens + use.output_tokens,
    }
