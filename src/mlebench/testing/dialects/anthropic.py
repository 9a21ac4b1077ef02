"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlebench.testing.conversation import Message, Reply, Request, Tool, ToolCall, Use, pieces
from mlebench.testing.dialects.common import Event, flat_text, identifier, listed

_FINISH = {"stop": "end_turn", "tools": "tool_use", "length": "max_tokens"}


def read(body: Mapping[str, Any]) -> Request:
    """The request in no dialect."""
    messages = [message for spoken in body.get("messages") or [] for message in _messages(spoken)]
    choice = body.get("tool_choice") or {}
    return Request(
        dialect="anthropic",
        model=body.get("model", ""),
        system=flat_text(body.get("system")),
        messages=tuple(messages),
        tools=tuple(_tool(each) for each in body.get("tools") or []),
        forced_tool=choice.get("name") if choice.get("type") == "tool" else None,
        stop=listed(body.get("stop_sequences")),
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_tokens"),
        body=body,
    )


def _messages(spoken: Mapping[str, Any]) -> Iterator[Message]:
    """One turn may bring the results of several tools, and text beside them."""
    content = spoken.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    for block in blocks:
        if block.get("type") == "tool_result":
            yield Message("tool", flat_text(block.get("content")), answers=block.get("tool_use_id", ""))
    texts = [block.get("text", "") for block in blocks if block.get("type") == "text"]
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    if texts or uses:
        calls = tuple(ToolCall(block["name"], block.get("input") or {}, block.get("id", "")) for block in uses)
        yield Message(spoken.get("role", "user"), "\n".join(texts), calls)


def _tool(offered: Mapping[str, Any]) -> Tool:
    kind = offered.get("type") or "custom"
    kind = "function" if kind == "custom" else kind
    return Tool(offered.get("name", kind), offered.get("description") or "", offered.get("input_schema") or {}, kind)


def write(request: Request, reply: Reply, use: Use) -> dict[str, Any]:
    """The whole answer."""
    return {
        **_head(request),
        "content": _blocks(request, reply),
        "stop_reason": _stop_reason(reply),
        "stop_sequence": reply.stopped_by,
        "usage": usage(use),
    }


def events(request: Request, reply: Reply, use: Use) -> Iterator[Event]:
    """The answer as named events."""
    begun = {**_head(request), "content": [], "stop_reason": None, "stop_sequence": None}
    yield from _named("message_start", message={**begun, "usage": {**usage(use), "output_tokens": 1}})
    yield from _named("ping")
    texts = [call.json for call in reply.calls]
    for index, block in enumerate(_blocks(request, reply)):
        yield from _block_events(index, block, texts)
    ending = {"stop_reason": _stop_reason(reply), "stop_sequence": reply.stopped_by}
    yield from _named("message_delta", delta=ending, usage=usage(use))
    yield from _named("message_stop")


def _block_events(index: int, block: dict[str, Any], texts: list[str]) -> Iterator[Event]:
    """Start, deltas and stop of a block; the texts of tool inputs are taken from `texts`, the first first."""
    started, deltas = {
        "text": ({"text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block.get("text", ""))]),
        "thinking": ({"thinking": "", "signature": ""}, _thinking_deltas(block)),
        "tool_use": ({"input": {}}, []),
    }[block["type"]]
    if block["type"] == "tool_use":
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(texts.pop(0))]]
    yield from _named("content_block_start", index=index, content_block={**block, **started})
    for delta in deltas:
        yield from _named("content_block_delta", index=index, delta=delta)
    yield from _named("content_block_stop", index=index)


def _thinking_deltas(block: dict[str, Any]) -> list[dict[str, Any]]:
    thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block.get("thinking", ""))]
    return [*thoughts, {"type": "signature_delta", "signature": block.get("signature", "")}]


def _named(name: str, **data: Any) -> Iterator[Event]:
    yield name, {"type": name, **data}


def _head(request: Request) -> dict[str, Any]:
    return {"id": identifier("msg", request), "type": "message", "role": "assistant", "model": request.model}


def _blocks(request: Request, reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    thinks = (request.body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    if reply.reasoning and thinks:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": identifier("sig", request)})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for number, call in enumerate(reply.calls):
        name = call.id or identifier("toolu", request, number)
        # Outside a stream the input is an object whatever happens: nothing malformed can be said.
        blocks.append({"type": "tool_use", "id": name, "name": call.name, "input": call.parsed or {}})
    return blocks


def _stop_reason(reply: Reply) -> str:
    return "stop_sequence" if reply.stopped_by else _FINISH[reply.ending]


def usage(use: Use) -> dict[str, Any]:
    """Tokens as Anthropic counts them: what was read from the cache stands beside the input, not in it."""
    return {
        "input_tokens": use.input_tokens - use.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": use.cached_tokens,
        "output_tokens": use.output_tokens,
        "output_tokens_details": {"thinking_tokens": use.reasoning_tokens},
    }
