"""How many tokens a call used, as the provider told: one reader for each dialect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tokens:
    """Tokens of one call. `cached` and `cache_write` are part of `input`, `reasoning` of `output`."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0  # part of cache_write
    output: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output


def tokens_of(dialect: str, documents: Iterable[Any]) -> Tokens | None:
    """The tokens that an answer tells, given as its JSON document or those of its events; None if it tells none."""
    return _READERS[dialect]([each for each in documents if isinstance(each, dict)])


def _chat(documents: list[dict[str, Any]]) -> Tokens | None:
    usage = _last(documents, "usage")
    if usage is None:
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    details, output_details = _part(usage, "prompt_tokens_details"), _part(usage, "completion_tokens_details")
    return Tokens(
        input=prompt,
        # DeepSeek has a name of its own.
        cached=_count(details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens"),
        cache_write=_count(details, "cache_write_tokens"),
        # Google's route counts what a model thought in the total only.
        output=max(completion, _count(usage, "total_tokens") - prompt),
        reasoning=_count(output_details, "reasoning_tokens"),
    )


def _responses(documents: list[dict[str, Any]]) -> Tokens | None:
    usage = _last([each.get("response") if "type" in each else each for each in documents], "usage")
    if usage is None:
        return None
    details, output_details = _part(usage, "input_tokens_details"), _part(usage, "output_tokens_details")
    return Tokens(
        input=_count(usage, "input_tokens"),
        cached=_count(details, "cached_tokens"),
        cache_write=_count(details, "cache_write_tokens"),
        output=_count(usage, "output_tokens"),
        reasoning=_count(output_details, "reasoning_tokens"),
    )


def _anthropic(documents: list[dict[str, Any]]) -> Tokens | None:
    usage: dict[str, Any] = {}
    for each in documents:  # the counts of later events are totals, too
        said = _part(_part(each, "message"), "usage") or _part(each, "usage")
        usage.update({name: value for name, value in said.items() if value is not None})
    if not usage:
        return None
    cached, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    return Tokens(
        input=_count(usage, "input_tokens") + cached + written,
        cached=cached,
        cache_write=written,
        cache_write_1h=_count(_part(usage, "cache_creation"), "ephemeral_1h_input_tokens"),
        output=_count(usage, "output_tokens"),
        reasoning=_count(_part(usage, "output_tokens_details"), "thinking_tokens"),
    )


def _google(documents: list[dict[str, Any]]) -> Tokens | None:
    usage = _last(documents, "usageMetadata")
    if usage is None:
        return None
    thoughts = _count(usage, "thoughtsTokenCount")
    return Tokens(
        input=_count(usage, "promptTokenCount") + _count(usage, "toolUsePromptTokenCount"),
        cached=_count(usage, "cachedContentTokenCount"),
        output=_count(usage, "candidatesTokenCount") + thoughts,
        reasoning=thoughts,
    )


_READERS: Mapping[str, Callable[[list[dict[str, Any]]], Tokens | None]] = {
    "openai-chat": _chat,
    "openai-completions": _chat,
    "openai-embeddings": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
}


def _last(documents: Iterable[Any], name: str) -> dict[str, Any] | None:
    found = [each[name] for each in documents if isinstance(each, dict) and isinstance(each.get(name), dict)]
    return found[-1] if found and found[-1] else None


def _part(mapping: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = mapping.get(name)
    return value if isinstance(value, dict) else {}


def _count(mapping: Mapping[str, Any], name: str) -> int:
    value = mapping.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, int(value))
