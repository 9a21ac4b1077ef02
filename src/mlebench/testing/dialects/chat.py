"""OpenAI's chat completions and completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlebench.testing.conversation import Message, Reply, Request, Tool, ToolCall, Use, pieces
from mlebench.testing.dialects.common import Event, flat_text, identifier, listed

CREATED = 1_700_000_000
_FINISH = {"stop": "stop", "tools": "tool_calls", "length": "length"}


# --- chat completions


def read_chat(body: Mapping[str, Any]) -> Request:
    """The request in no dialect."""
    spoken = body.get("messages") or []
    messages = tuple(_message(each) for each in spoken if each.get("role") not in ("system", "developer"))
    system = [flat_text(each.get("content")) for each in spoken if each.get("role") in ("system", "developer")]
    choice = body.get("tool_choice")
    return Request(
        dialect="openai-chat",
        model=body.get("model", ""),
        system="\n\n".join(system),
        messages=messages,
        tools=tuple(_tool(each) for each in body.get("tools") or []),
        forced_tool=choice["function"]["name"] if isinstance(choice, dict) and "function" in choice else None,
        stop=listed(body.get("stop")),
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        body=body,
    )


def _message(spoken: Mapping[str, Any]) -> Message:
    calls = tuple(
        ToolCall(call["function"]["name"], call["function"].get("arguments") or "", call.get("id", ""))
        for call in spoken.get("tool_calls") or []
        if "function" in call
    )
    role = "tool" if spoken["role"] == "function" else spoken["role"]
    return Message(role, flat_text(spoken.get("content")), calls, spoken.get("tool_call_id", ""))


def _tool(offered: Mapping[str, Any]) -> Tool:
    function = offered.get("function") or {}
    kind = offered.get("type", "function")
    return Tool(function.get("name", kind), function.get("description") or "", function.get("parameters") or {}, kind)


def write_chat(request: Request, reply: Reply, use: Use) -> dict[str, Any]:
    """The whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [_call(request, number, call) for number, call in enumerate(reply.calls)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[reply.ending]}
    return {**_head(request, "chat.completion"), "choices": [choice], "usage": usage(use)}


def chat_events(request: Request, reply: Reply, use: Use) -> Iterator[Event]:
    """The answer as chunks; usage comes last, and only if `stream_options.include_usage` asks for it."""
    told = bool((request.body.get("stream_options") or {}).get("include_usage"))
    head = {**_head(request, "chat.completion.chunk"), **({"usage": None} if told else {})}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return None, {**head, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for number, call in enumerate(reply.calls):
        started = _call(request, number, call)
        started["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": number, **started}]})
        for piece in pieces(call.json):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    yield chunk({}, _FINISH[reply.ending])
    if told:
        yield None, {**head, "choices": [], "usage": usage(use)}
    yield None, "[DONE]"


def _head(request: Request, kind: str) -> dict[str, Any]:
    return {"id": identifier("chatcmpl", request), "object": kind, "created": CREATED, "model": request.model}


def _call(request: Request, number: int, call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id or identifier("call", request, number),
        "type": "function",
        "function": {"name": call.name, "arguments": call.json},
    }


def usage(use: Use) -> dict[str, Any]:
    """Tokens as chat completions count them: cached ones are part of the prompt, reasoning of the completion."""
    return {
        "prompt_tokens": use.input_tokens,
        "completion_tokens": use.output_tokens,
        "total_tokens": use.input_tokens + use.output_tokens,
        "prompt_tokens_details": {"cached_tokens": use.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": use.reasoning_tokens, "audio_tokens": 0},
    }


# --- completions


def read_completion(body: Mapping[str, Any]) -> Request:
    """The request in no dialect: the prompt as one message of a user."""
    prompt = body.get("prompt") or ""
    text = prompt if isinstance(prompt, str) else "\n".join(map(str, prompt))
    return Request(
        dialect="openai-completions",
        model=body.get("model", ""),
        messages=(Message("user", text),),
        stop=listed(body.get("stop")),
        stream=bool(body.get("stream")),
        max_tokens=body.get("max_tokens"),
        body=body,
    )


def write_completion(request: Request, reply: Reply, use: Use) -> dict[str, Any]:
    """The whole answer; tool calls have no place in it."""
    choice = {"index": 0, "text": reply.text, "logprobs": None, "finish_reason": _plain_finish(reply)}
    return {**_completion_head(request), "choices": [choice], "usage": usage(use)}


def completion_events(request: Request, reply: Reply, use: Use) -> Iterator[Event]:
    """The answer as chunks."""
    head = _completion_head(request)
    for piece in pieces(reply.text):
        yield None, {**head, "choices": [{"index": 0, "text": piece, "logprobs": None, "finish_reason": None}]}
    last = {"index": 0, "text": "", "logprobs": None, "finish_reason": _plain_finish(reply)}
    yield None, {**head, "choices": [last]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": usage(use)}
    yield None, "[DONE]"


def _completion_head(request: Request) -> dict[str, Any]:
    return {
        "id": identifier("cmpl", request),
        "object": "text_completion",
        "created": CREATED,
        "model": request.model,
    }


def _plain_finish(reply: Reply) -> str:
    return "length" if reply.finish == "length" else "stop"
