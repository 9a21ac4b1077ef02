"""What a request may not make its provider do: reach the network, run code, or look at what others left there.

A sandbox without a network is of no use if the provider searches the web for the model. So tools that a provider
executes are taken out of a request, going by a list of the kinds that a *client* executes: what is not on it is
removed. Content that the provider would have to fetch or look up is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CLIENT_TOOLS: Mapping[str, re.Pattern[str]] = {
    "openai-chat": re.compile(r"function|custom"),
    "openai-responses": re.compile(
        r"function|custom|local_shell|apply_patch|computer|computer_use_preview|tool_search"
    ),
    "anthropic": re.compile(r"custom|(bash|text_editor|computer|browser|memory)_\d+|tool_search_tool_\w+"),
}
GOOGLE_CLIENT_TOOLS = ("functiondeclarations", "computeruse")
# Further ways in which providers offer the web, other models or other prices.
REMOVED_KEYS: Mapping[str, frozenset[str]] = {
    "openai-chat": frozenset(
        (
            *("web_search_options", "search_parameters", "enable_search"),
            *("plugins", "preset", "models", "route", "service_tier"),
        )
    ),
    "openai-completions": frozenset(("plugins", "preset", "models", "route", "service_tier")),
    "openai-embeddings": frozenset(("models", "route")),
    "openai-responses": frozenset(("plugins", "preset", "models", "route", "service_tier")),
    "anthropic": frozenset(
        ("mcp_servers", "container", "fallbacks", "fallback_credit_token", "service_tier", "speed", "thread")
    ),
    "google": frozenset(("serviceTier", "service_tier")),
}
HARMLESS_VALUES = ("auto", "default", "standard", "standard_only", None)
REFUSED_KEYS: Mapping[str, Mapping[str, str]] = {
    "openai-responses": {
        "background": "an answer can't be fetched later",
        "conversation": "conversations that the provider keeps can't be used; send all items as input",
        "prompt": "prompts that the provider keeps can't be used; send the text",
    },
    "google": {"cachedcontent": "content that the provider keeps can't be used; send it"},
}
PROVIDER_BLOCKS: Mapping[str, re.Pattern[str]] = {
    "openai-responses": re.compile(
        r"(web_search|file_search|code_interpreter|image_generation|mcp)_call|mcp_\w+|program|program_output"
    ),
    "anthropic": re.compile(
        r"server_tool_use|mcp_\w+|container_upload|memory_store|advisor_\w+"
        r"|(web_search|web_fetch|code_execution|bash_code_execution|text_editor_code_execution)_tool_result"
    ),
}
GOOGLE_PROVIDER_PARTS = ("executablecode", "codeexecutionresult", "toolcall", "toolresponse")
REMOTE = "the provider must not fetch anything; send the data itself (base64)"


class Refused(Exception):
    """A request that must not be relayed."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass
class _Work:
    dialect: str
    known_ids: frozenset[str]
    removed: list[str] = field(default_factory=list)


def clean(dialect: str, body: dict[str, Any], known_ids: Iterable[str] = ()) -> list[str]:
    """Take out of `body` what the provider must not do, and name it. Raises Refused for what can't be taken out.

    `known_ids` are those of this attempt's own earlier answers.
    """
    work = _Work(dialect, frozenset(known_ids))
    _remove_keys(work, body)
    _refuse_keys(work, body)
    _clean_tools(work, body)
    for block in _blocks(dialect, body):
        _check_block(work, block)
    return work.removed


def _remove_keys(work: _Work, body: dict[str, Any]) -> None:
    for key in REMOVED_KEYS[work.dialect] & body.keys():
        if key in ("service_tier", "serviceTier", "speed") and body[key] in HARMLESS_VALUES:
            continue
        del body[key]
        work.removed.append(key)


def _refuse_keys(work: _Work, body: Mapping[str, Any]) -> None:
    refused = REFUSED_KEYS.get(work.dialect, {})
    for key, value in body.items():
        name = _plain(key) if work.dialect == "google" else key
        if name in refused and value not in (None, False):
            raise Refused(f'"{key}" is not allowed here: {refused[name]}')
    if work.dialect == "openai-responses":
        _require_own(work, body.get("previous_response_id"), "previous_response_id")


def _require_own(work: _Work, identity: object, name: str) -> None:
    if identity is not None and not (isinstance(identity, str) and identity in work.known_ids):
        raise Refused(f'"{name}": {str(identity)[:100]!r} is no answer that this attempt was given')


def _clean_tools(work: _Work, body: dict[str, Any]) -> None:
    if work.dialect == "google":
        _clean_google_tools(work, body)
        return
    if work.dialect not in CLIENT_TOOLS or not body.get("tools"):
        return
    before = _as_list(body["tools"])
    body["tools"] = kept = _kept(work, before)
    gone = _tool_names(before) - _tool_names(kept)
    if not kept:
        for key in ("tools", "tool_choice", "parallel_tool_calls"):
            body.pop(key, None)
    elif _names_removed(body.get("tool_choice"), gone):
        del body["tool_choice"]


def _kept(work: _Work, tools: Iterable[Any]) -> list[Any]:
    """Those of the tools that the client executes; those within a name space too."""
    kept = []
    for tool in tools:
        kind = _kind(tool)
        if kind == "namespace" and work.dialect == "openai-responses":
            tool["tools"] = _kept(work, _as_list(tool.get("tools")))
            if tool["tools"]:
                kept.append(tool)
        elif CLIENT_TOOLS[work.dialect].fullmatch(kind) or _is_local_shell(tool):
            kept.append(tool)
        else:
            work.removed.append(kind)
    return kept


def _kind(tool: Any) -> str:
    if not isinstance(tool, dict):
        return "unreadable"
    kind = tool.get("type") or "custom"  # anthropic's need not say it
    return kind[:60] if isinstance(kind, str) else "unreadable"


def _is_local_shell(tool: Any) -> bool:
    """OpenAI's shell runs in a container of theirs, or where the client is: only if it says so."""
    if not isinstance(tool, dict) or tool.get("type") != "shell":
        return False
    environment = tool.get("environment")
    return isinstance(environment, dict) and environment.get("type") == "local"


def _tool_names(tools: Iterable[Any]) -> set[str]:
    """The words by which a tool can be chosen: its kind or its name."""
    names = set()
    for tool in tools:
        if isinstance(tool, dict):
            function = tool.get("function")
            inner = function.get("name") if isinstance(function, dict) else None
            names |= {each for each in (tool.get("type"), tool.get("name"), inner) if isinstance(each, str)}
    return names


def _names_removed(choice: Any, gone: set[str]) -> bool:
    if not isinstance(choice, dict):
        return False
    function = choice.get("function")
    words = [choice.get("type"), choice.get("name"), choice.get("server_label")]
    words += [function.get("name")] if isinstance(function, dict) else []
    if choice.get("type") == "allowed_tools":
        tools = choice.get("tools") or (choice.get("allowed_tools") or {}).get("tools")
        return bool(_tool_names(_as_list(tools)) & gone)
    return any(isinstance(word, str) and word in gone for word in words)


def _clean_google_tools(work: _Work, body: dict[str, Any]) -> None:
    kept = []
    for key in [key for key in body if key != "tools" and _plain(key) == "tools"]:
        del body[key]
        work.removed.append(key[:60])
    for tool in _as_list(body.get("tools")):
        if not isinstance(tool, dict):
            work.removed.append("unreadable")
            continue
        for key in [key for key in tool if _plain(key) not in GOOGLE_CLIENT_TOOLS]:
            del tool[key]
            work.removed.append(key[:60])
        if tool:
            kept.append(tool)
    if kept:
        body["tools"] = kept
    elif "tools" in body:
        for key in [key for key in body if _plain(key) in ("tools", "toolconfig")]:
            del body[key]


def _check_block(work: _Work, block: dict[str, Any]) -> None:
    if work.dialect == "google":
        _check_google_part(block)
        return
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    pattern = PROVIDER_BLOCKS.get(work.dialect)
    if pattern and pattern.fullmatch(kind) and not _searches_tools(block):
        raise Refused(f'content of type "{kind}" comes from tools of the provider, which are not allowed here')
    if work.dialect == "openai-responses" and kind == "item_reference":
        _require_own(work, block.get("id"), "item_reference")
    if kind == "tool_addition":
        _check_added_tool(work, block)
    if isinstance(block.get("tools"), list) and work.dialect == "openai-responses":
        block["tools"] = _kept(work, block["tools"])
    _refuse_remote(block)


def _searches_tools(block: Mapping[str, Any]) -> bool:
    """Anthropic's search among the request's own tools is harmless."""
    return block.get("type") == "server_tool_use" and str(block.get("name")).startswith("tool_search_tool_")


def _check_added_tool(work: _Work, block: Mapping[str, Any]) -> None:
    tool = block.get("tool")
    definition = tool.get("definition") if isinstance(tool, dict) else None
    kind = _kind(definition) if definition is not None else str(tool.get("type") if isinstance(tool, dict) else tool)
    if kind.startswith("mcp_") or (definition is not None and not CLIENT_TOOLS[work.dialect].fullmatch(kind)):
        raise Refused(f'a tool of type "{kind}" is executed by the provider, which is not allowed here')


def _refuse_remote(block: Mapping[str, Any]) -> None:
    image = block.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if url is not None and not str(url).startswith("data:"):
        raise Refused(f'"image_url": {REMOTE}')
    file = block.get("file")
    for part in (block, file if isinstance(file, dict) else {}):
        for key in ("file_id", "file_url"):
            if part.get(key) is not None:
                raise Refused(f'"{key}": {REMOTE}')
    source = block.get("source")
    if isinstance(source, dict) and (source.get("type") in ("url", "file") or {"url", "file_id"} & source.keys()):
        raise Refused(f'a source of type "{str(source.get("type"))[:60]}": {REMOTE}')
    video = block.get("video_url")
    url = video.get("url") if isinstance(video, dict) else video
    if url is not None and not str(url).startswith("data:"):
        raise Refused(f'"video_url": {REMOTE}')


def _check_google_part(part: Mapping[str, Any]) -> None:
    for key in part:
        if _plain(key) == "filedata":
            raise Refused(f'"{key}": {REMOTE}')
        if _plain(key) in GOOGLE_PROVIDER_PARTS:
            raise Refused(f'a part with "{key}" comes from tools of the provider, which are not allowed here')


def _blocks(dialect: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All pieces of content; what calls of functions say and schemas of tools are none."""
    return _CONTENT.get(dialect, lambda _: iter(()))(body)


def _chat_blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for message in _objects(body.get("messages")):
        yield from _objects(message.get("content"))


def _responses_blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item in _objects(body.get("input")):
        yield item
        yield from _objects(item.get("content"))
        yield from _objects(item.get("output"))


def _anthropic_blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _objects(body.get("system"))
    for message in _objects(body.get("messages")):
        yield from _nested(message.get("content"))


def _nested(content: Any) -> Iterator[dict[str, Any]]:
    for block in _objects(content):
        yield block
        yield from _nested(block.get("content"))
        source = block.get("source")
        if isinstance(source, dict):
            yield from _nested(source.get("content"))


def _google_parts(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in body.items():
        if _plain(key) in ("contents", "systeminstruction"):
            for content in _objects(value):
                yield from _with_answers(content.get("parts"))
        elif _plain(key) == "generatecontentrequest" and isinstance(value, dict):
            yield from _google_parts(value)


def _with_answers(parts: Any) -> Iterator[dict[str, Any]]:
    """Parts, and those within the answers of functions."""
    for part in _objects(parts):
        yield part
        for key, value in part.items():
            if _plain(key) == "functionresponse" and isinstance(value, dict):
                yield from _objects(value.get("parts"))


_CONTENT: Mapping[str, Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]] = {
    "openai-chat": _chat_blocks,
    "openai-responses": _responses_blocks,
    "anthropic": _anthropic_blocks,
    "google": _google_parts,
}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in _as_list(value) if isinstance(each, dict))


def _as_list(value: Any) -> list[Any]:
    """Google takes a single object where a list belongs."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _plain(key: str) -> str:
    """Google knows each key in two ways of writing: fileData, file_data."""
    return key.replace("_", "").lower()
