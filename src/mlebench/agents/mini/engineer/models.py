"""The tool's model, in the dialect that the user chooses, behind the gateway."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

DIALECTS = ("openai-chat", "openai-responses", "anthropic")
ANTHROPIC_TOKENS = 16_384  # where a limit must be named


def dialect(name: str, chosen: str) -> str:
    """The dialect in which a model is asked.

    >>> dialect("claude-sonnet-4", "auto"), dialect("gpt-4o", "auto"), dialect("gpt-4o", "openai-responses")
    ('anthropic', 'openai-chat', 'openai-responses')
    """
    if chosen == "auto":
        return "anthropic" if name.startswith("claude") else "openai-chat"
    if chosen not in DIALECTS:
        raise SystemExit(f"The parameter dialect is {chosen!r}; there are auto, {', '.join(DIALECTS)}.")
    return chosen


def make_model(stock: Mapping[str, Any]) -> Any:
    """The tool's model with its `stock` settings.

    To litellm it has a name of no family (`gw-...`, which the gateway knows), so that it is asked as we say.
    """
    from minisweagent.models.litellm_model import LitellmModel  # pyright: ignore[reportMissingImports]
    from minisweagent.models.litellm_response_model import LitellmResponseModel  # pyright: ignore[reportMissingImports]

    name = os.environ["MLEBENCH_MODEL"]
    spoken = dialect(name, os.environ["AGENT_DIALECT"])
    provider = "anthropic" if spoken == "anthropic" else "openai"
    kind = LitellmResponseModel if spoken == "openai-responses" else LitellmModel
    return kind(
        **{
            **stock,
            "model_name": f"{provider}/gw-{name.removeprefix('gw-')}",
            "model_kwargs": stock.get("model_kwargs", {}) | _options(spoken),
            "cost_tracking": "ignore_errors",  # the gateway counts
            "set_cache_control": "default_end" if spoken == "anthropic" else None,
        }
    )


def _options(spoken: str) -> dict[str, Any]:
    anthropic = spoken == "anthropic"
    options: dict[str, Any] = {
        "api_base": os.environ["ANTHROPIC_BASE_URL" if anthropic else "OPENAI_BASE_URL"],
        "api_key": os.environ["ANTHROPIC_API_KEY" if anthropic else "OPENAI_API_KEY"],
        "timeout": float(os.environ["AGENT_REQUEST_TIMEOUT"]),
    }
    if temperature := os.environ["AGENT_TEMPERATURE"]:
        options["temperature"] = float(temperature)
    tokens = int(os.environ["AGENT_MAX_OUTPUT_TOKENS"]) or (ANTHROPIC_TOKENS if anthropic else 0)
    if tokens:
        limit = {"openai-chat": "max_completion_tokens", "openai-responses": "max_output_tokens"}
        options[limit.get(spoken, "max_tokens")] = tokens
    if effort := os.environ["AGENT_REASONING_EFFORT"]:
        words = {
            "openai-responses": {"reasoning": {"effort": effort}},
            "anthropic": {"output_config": {"effort": effort}},
        }
        options["extra_body"] = words.get(spoken, {"reasoning_effort": effort})
    return options
