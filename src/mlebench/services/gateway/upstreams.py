"""Where models are: the providers that are built in, and the form of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DIALECTS = (
    "openai-chat",
    "openai-responses",
    "openai-completions",
    "openai-embeddings",
    "anthropic",
    "google",
)
STANDARD_PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "openai-completions": "/v1/completions",
    "openai-embeddings": "/v1/embeddings",
    "anthropic": "/v1/messages",
}


@dataclass(frozen=True)
class Upstream:
    """A server of models. `key` names the variable of the host's environment that holds its key, never the key.

    `paths` holds those that differ from the standard ones. `library` names what is called instead of a server
    (`litellm`), with `options` as further arguments.
    """

    name: str
    url: str = ""
    key: str | None = None
    dialects: tuple[str, ...] = DIALECTS
    paths: Mapping[str, str] = field(default_factory=dict)
    stream_usage: bool = True  # understands stream_options.include_usage
    library: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def address(self, dialect: str) -> str:
        """The URL of a dialect's calls, but for google, whose paths name the model."""
        return self.url + self.paths.get(dialect, STANDARD_PATHS[dialect])

    def key_header(self, dialect: str, key: str) -> dict[str, str]:
        """The header in which a dialect carries its key."""
        if dialect == "anthropic":
            return {"x-api-key": key}
        if dialect == "google":
            return {"x-goog-api-key": key}
        return {"authorization": f"Bearer {key}"}


BUILT_IN: dict[str, Upstream] = {
    upstream.name: upstream
    for upstream in (
        Upstream(
            "openai",
            "https://api.openai.com",
            "OPENAI_API_KEY",
            ("openai-chat", "openai-responses", "openai-completions", "openai-embeddings"),
        ),
        Upstream("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", ("anthropic", "openai-chat")),
        Upstream(
            "google",
            "https://generativelanguage.googleapis.com",
            "GEMINI_API_KEY",
            ("google", "openai-chat", "openai-embeddings"),
            {
                "openai-chat": "/v1beta/openai/chat/completions",
                "openai-embeddings": "/v1beta/openai/embeddings",
            },
        ),
        Upstream(
            "openrouter", "https://openrouter.ai/api", "OPENROUTER_API_KEY", ("openai-chat", "openai-completions")
        ),
    )
}
