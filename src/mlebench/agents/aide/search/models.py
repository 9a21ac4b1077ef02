"""How the tool's questions reach the model: in a dialect that the user chooses, at the addresses of the environment.

The tool picks a provider by the model's name, and knows the addresses of two of them by heart. Its functions that
speak each dialect are used as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .settings import Settings

DIALECTS = ("openai-chat", "openai-responses", "anthropic")
PERSON = ("a Kaggle grandmaster", "an experienced machine-learning engineer")
ANTHROPIC_TOKENS = 16_384  # where a limit must be named; the tool names 4,096, which cuts programs off


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


def wants_user(name: str, chosen: str) -> bool:
    """Whether a model wants to be asked by a user.

    >>> wants_user("o1-preview", "auto"), wants_user("gpt-4o", "auto"), wants_user("gpt-4o", "true")
    (True, False, True)
    """
    return chosen == "true" or (chosen == "auto" and name.startswith(("o1", "gemini")))


def asking(settings: Settings, steps_done: Callable[[], int]) -> Callable[..., Any]:
    """What takes the place of the tool's function `query`."""
    from aide.backend import (  # pyright: ignore[reportMissingImports]
        backend_anthropic,
        backend_openai,
        compile_prompt_to_md,
    )

    dialects = {name: dialect(name, settings.dialect) for name in (settings.model, settings.feedback_model)}
    _make_clients(set(dialects.values()), settings.request_timeout)

    def ask(
        system_message: Any,
        user_message: Any,
        model: str,
        temperature: float = -1,
        func_spec: Any = None,
        **_: object,
    ) -> Any:
        spoken = dialects[model]
        system_message = rewritten(system_message, settings, steps_done())
        if user_message is None and wants_user(model, settings.system_as_user):
            system_message, user_message = None, system_message
        said = [compile_prompt_to_md(message) if message else None for message in (system_message, user_message)]
        module = backend_anthropic if spoken == "anthropic" else backend_openai
        options = _options(spoken, temperature, settings.max_output_tokens)
        return module.query(*said, func_spec=func_spec, model=alias(model, spoken), **options)[0]

    return ask


def rewritten(message: Any, settings: Settings, steps_done: int) -> Any:
    """The tool's own words with what the settings want different."""
    if not isinstance(message, dict):
        return message
    message = dict(message)
    if settings.obfuscate and "Introduction" in message:
        message["Introduction"] = message["Introduction"].replace(*PERSON)
    if settings.tell_limits and "Instructions" in message:
        left = f"{max(0.0, settings.left) / 3600:.1f} hours and {settings.steps - steps_done} programs are left."
        message["Instructions"] = {**message["Instructions"], "Limits": left}
    return message


def _options(spoken: str, temperature: float, tokens: int) -> dict[str, Any]:
    given = {} if temperature < 0 else {"temperature": temperature}
    options: dict[str, Any] = {"extra_body": given} if spoken == "anthropic" else given  # its library knows none
    if spoken == "anthropic":
        options["max_tokens"] = tokens or ANTHROPIC_TOKENS
    elif tokens:
        options["max_completion_tokens" if spoken == "openai-chat" else "max_tokens"] = tokens
    return options


def _make_clients(spoken: set[str], timeout: float) -> None:
    """Let the tool make its clients, and give answers more time: it would ask anew after ten minutes."""
    from aide.backend import backend_anthropic, backend_openai  # pyright: ignore[reportMissingImports]

    if "anthropic" in spoken:
        backend_anthropic._setup_anthropic_client()
        backend_anthropic._client = backend_anthropic._client.with_options(timeout=timeout)
    if spoken == {"anthropic"}:
        return
    backend_openai.OPENAI_BASE_URL = os.environ["OPENAI_BASE_URL"]
    backend_openai._setup_openai_client()
    backend_openai._setup_custom_client()
    backend_openai._client = backend_openai._client.with_options(timeout=timeout)
    backend_openai._custom_client = backend_openai._custom_client.with_options(timeout=timeout)
    if "openai-responses" in spoken:
        del os.environ["OPENAI_BASE_URL"]  # by it the tool decides to chat


def alias(name: str, spoken: str) -> str:
    """A name by which the tool doesn't know a model's family.

    It decides between OpenAI's dialects by the family. The gateway knows both names.

    >>> alias("gpt-4o-2024-08-06", "openai-chat"), alias("o3", "openai-responses")
    ('gw-gpt-4o-2024-08-06', 'o3')
    """
    return f"gw-{name}" if spoken == "openai-chat" else name
