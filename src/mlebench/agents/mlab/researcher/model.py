"""Asking a language model: OpenAI's chat completions or Anthropic's messages, one user message a request."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from .settings import Clock

TRIES = 4  # at a connection that fails; whoever forwards the requests is expected to absorb what lasts longer
DIALECTS = ("auto", "openai-chat", "anthropic")
_ALLOWED_TO_FAIL = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_ANTHROPIC_VERSION = "2023-06-01"
_RENAMED = {"max_tokens": "max_completion_tokens"}  # what some models of the chat dialect want instead
_OPTIONAL = ("temperature", "stop")


class ModelError(Exception):
    """The model can't be asked any more; the run ends with this message."""


class AccessDenied(ModelError):
    """The answer was 401 or 403: a wrong key, or a budget that is spent."""


class RequestRefused(ModelError):
    """The model does not take this very request, as when a text is too long."""


@dataclass
class Use:
    """What was asked of the models so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass
class Models:
    """Where the models are, and what they turned out not to understand."""

    dialect: str  # auto, openai-chat or anthropic
    temperature: str
    clock: Clock
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    use: Use = field(default_factory=Use)
    _refused: set[tuple[str, str]] = field(default_factory=set)  # model, parameter

    def ask(self, model: str, prompt: str, max_tokens: int, temperature: float | None, stop: str | None = None) -> str:
        """What `model` answers to `prompt`. `temperature` None is that of the protocol's main loop.

        Raises ModelError, and TimeoutError once the time is over.
        """
        dialect = self.dialect_of(model)
        wanted = self._temperature(dialect, temperature)
        while True:
            body = _body(dialect, model, prompt, max_tokens, wanted, stop)
            for name in [name for refusing, name in self._refused if refusing == model]:
                value = body.pop(name, None)
                if name in _RENAMED:
                    body[_RENAMED[name]] = value
            try:
                return self._answer(dialect, body)
            except RequestRefused as error:
                name = next((name for name in (*_OPTIONAL, *_RENAMED) if name in body and name in str(error)), None)
                if name is None:
                    raise
                self._refused.add((model, name))

    def dialect_of(self, model: str) -> str:
        """The dialect in which a model is asked."""
        if self.dialect != "auto":
            return self.dialect
        return "anthropic" if model.rpartition("/")[2].removeprefix("gw-").startswith("claude") else "openai-chat"

    def _temperature(self, dialect: str, temperature: float | None) -> float | None:
        if self.temperature == "none":
            return None
        if temperature is not None:
            return temperature
        return float(self.temperature) if self.temperature else {"anthropic": 0.5}.get(dialect, 0.2)

    def _answer(self, dialect: str, body: Mapping[str, Any]) -> str:
        address, headers = _address(dialect, self.environment)
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        content = self._sent(request)
        self.use.requests += 1
        try:
            text, read, written = _READERS[dialect](content)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ModelError(f"{address} gave an answer that can't be read: {json.dumps(content)[:500]}") from error
        self.use.input_tokens += read
        self.use.output_tokens += written
        return text

    def _sent(self, request: urllib.request.Request) -> Any:
        """The JSON that comes back. A connection that fails is tried again a few times."""
        for number in range(TRIES):
            last = number == TRIES - 1
            seconds = self.clock.left_for_work()
            if seconds <= 0:
                break
            try:
                with _OPENER.open(request, timeout=seconds) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if last or error.code not in _ALLOWED_TO_FAIL:
                    raise _failure(error) from error
            except (OSError, HTTPException, ValueError) as error:
                if last and self.clock.left_for_work() > 0:
                    raise ModelError(f"{request.full_url} could not be reached: {error}") from error
            time.sleep(2**number)
        raise TimeoutError


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the address is on this machine


def _failure(error: urllib.error.HTTPError) -> ModelError:
    """The error of a status, with the words of the server."""
    text = error.read(10_000).decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["error"]["message"])
    if error.code in (401, 403):
        return AccessDenied(f"the model is no longer to be had (status {error.code}): {text}")
    kind = RequestRefused if error.code in (400, 413, 422) else ModelError
    return kind(f"the request to the model failed with status {error.code}: {text}")


def _address(dialect: str, environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Where to ask, and the headers."""
    name = "ANTHROPIC_BASE_URL" if dialect == "anthropic" else "OPENAI_BASE_URL"
    base = environment.get(name, "").rstrip("/")
    if not base:
        raise ModelError(f"there is no model to ask: {name} is not set")
    headers = {"content-type": "application/json"}
    if dialect == "anthropic":
        key = {"x-api-key": environment.get("ANTHROPIC_API_KEY", ""), "anthropic-version": _ANTHROPIC_VERSION}
        return f"{base}/v1/messages", headers | key
    return f"{base}/chat/completions", headers | {"authorization": f"Bearer {environment.get('OPENAI_API_KEY', '')}"}


def _body(
    dialect: str, model: str, prompt: str, max_tokens: int, temperature: float | None, stop: str | None
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
    }
    if temperature is not None:
        body["temperature"] = temperature
    if stop is not None:
        body["stop_sequences" if dialect == "anthropic" else "stop"] = [stop]
    return body


def _chat(content: Any) -> tuple[str, int, int]:
    use = content.get("usage") or {}
    text = content["choices"][0]["message"].get("content") or ""
    return text, use.get("prompt_tokens") or 0, use.get("completion_tokens") or 0


def _messages(content: Any) -> tuple[str, int, int]:
    use = content.get("usage") or {}
    text = "".join(block["text"] for block in content["content"] if block.get("type") == "text")
    return text, use.get("input_tokens") or 0, use.get("output_tokens") or 0


_READERS = {"openai-chat": _chat, "anthropic": _messages}
