"""Calls of an upstream, with patience: what is transient is waited out here, where it is seen and counted."""

from __future__ import annotations

import asyncio
import json
import math
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from mlebench import __version__
from mlebench.services.gateway.answers import Answer, Judgement, fault_in, judge, quote
from mlebench.services.gateway.budget import Ledger
from mlebench.services.gateway.config import GatewayConfig, Model
from mlebench.services.gateway.dialects import Route, error_document
from mlebench.services.gateway.upstreams import Upstream
from mlebench.services.gateway.usage import tokens_of

LONGEST_WAIT = 60.0
CONNECT_SECONDS = 30.0
MAX_ANSWER_BYTES = 256 << 20
FAULTS_KEPT = 20
PASSED_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta")
PASSED_QUERIES = ("beta", "alt")


# What any model answers, by dialect.
PLAIN_QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "openai-chat": {"messages": [{"role": "user", "content": "Say OK."}]},
    "openai-responses": {"input": "Say OK.", "store": False},
    "anthropic": {"messages": [{"role": "user", "content": "Say OK."}], "max_tokens": 16},
    "google": {"contents": [{"role": "user", "parts": [{"text": "Say OK."}]}]},
}
TRIAL_SECONDS = 120.0
TRIAL_HOLDS_SECONDS = 60.0


class GatewayFailure(Exception):
    """The way to the model failed for good; nobody inside the sandbox is to blame.

    `reason` is what the upstream said, without the names of the host's variables.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass
class Order:
    """One call to be made: everything but the key."""

    model: Model
    upstream: Upstream
    route: Route
    stream: bool
    body: dict[str, Any]
    headers: Mapping[str, str]
    query: Mapping[str, str]


@dataclass
class Progress:
    """What became of a call so far; it can be looked at when the call is cancelled."""

    tries: int = 0
    lost_seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    adapted: list[str] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)  # in the present try


class Caller:
    """Makes the calls of one attempt. It alone knows the keys."""

    def __init__(self, config: GatewayConfig, ledger: Ledger, keys: Mapping[str, str | None]) -> None:
        self._config, self._ledger, self._keys = config, ledger, keys
        self._secrets = [key for key in keys.values() if key and len(key) >= 8]
        self._context: ssl.SSLContext | None = None
        self._trial = asyncio.Lock()
        self._answered_at: dict[str, float] = {}  # by model: when a plain question was answered last

    def scrub(self, text: bytes) -> bytes:
        """Without the keys."""
        for secret in self._secrets:
            text = text.replace(secret.encode(), b"<key>")
        return text

    async def call(self, order: Order, progress: Progress) -> tuple[Answer, Judgement]:
        """The answer that can be handed on. Raises GatewayFailure if there is none to be had.

        Where the model answers a plain question, the request is to blame, and the answer says so: no request must be
        able to end the attempt in a way that does not count.
        """
        try:
            return await self._call(order, progress)
        except GatewayFailure as failure:
            if self._ledger.verdict or not await self._answers_others(order):
                raise
            said = f"the model answers other requests, but this one fails: {failure.reason or failure}"
            document = error_document(order.route.dialect, 400, "request_failed", said)
            content_type = {"content-type": "application/json"}
            return Answer(400, content_type, json.dumps(document).encode()), Judgement("deliver")

    async def _call(self, order: Order, progress: Progress) -> tuple[Answer, Judgement]:
        if order.upstream.library:
            from mlebench.services.gateway.translation import translate

            key = self._keys[order.upstream.name]
            return await self._persist(lambda: translate(order, key), order, progress)
        async with self._client(order.upstream) as client:
            return await self._persist(lambda: self._send(client, order, progress), order, progress)

    async def _answers_others(self, order: Order) -> bool:
        """Whether the model answers a plain question, in a dialect that the agent is known to speak."""
        usable = [each for each in order.upstream.dialects if each in PLAIN_QUESTIONS]
        if spoken := self._config.spoken:
            usable = [each for each in usable if each in spoken]
            usable = [each for each in usable if each == order.route.dialect] or usable
        name = order.model.full_name
        async with self._trial:
            if time.monotonic() - self._answered_at.get(name, -math.inf) < TRIAL_HOLDS_SECONDS:
                return True
            for dialect in usable:
                if await self._answers(order, dialect):
                    self._answered_at[name] = time.monotonic()
                    return True
        return False

    async def _answers(self, order: Order, dialect: str) -> bool:
        """Whether the model answers a plain question in this dialect, which is counted as the attempt's."""
        route = Route(dialect, "call", version="v1beta")
        body = {"model": order.model.name} if dialect != "google" else {}
        headers = {"anthropic-version": "2023-06-01"}
        question = Order(order.model, order.upstream, route, False, {**body, **PLAIN_QUESTIONS[dialect]}, headers, {})
        try:
            async with asyncio.timeout(TRIAL_SECONDS):
                answer, judgement = await self._ask_once(question)
        except TimeoutError:
            return False
        if answer is None or not 200 <= answer.status < 300 or judgement.action != "deliver":
            return False
        tokens = tokens_of(dialect, judgement.documents)
        price = order.model.price
        self._ledger.add(tokens, price.dollars(tokens) if price and tokens else None)
        return not any(map(fault_in, judgement.documents))

    async def _ask_once(self, order: Order) -> tuple[Answer | None, Judgement]:
        if order.upstream.library:
            from mlebench.services.gateway.translation import translate

            key = self._keys[order.upstream.name]
            return await self._judged(lambda: translate(order, key), order)
        async with self._client(order.upstream) as client:
            return await self._judged(lambda: self._send(client, order, Progress()), order)

    async def _persist(
        self, once: Callable[[], Awaitable[Answer]], order: Order, progress: Progress
    ) -> tuple[Answer, Judgement]:
        while True:
            started = time.monotonic()
            progress.tries += 1
            progress.received.clear()
            answer, judgement = await self._judged(once, order)
            if judgement.action == "deliver" and answer is not None:
                if change := adapt(order, answer):
                    progress.adapted.append(change)
                    continue
                return answer, judgement
            name = order.upstream.name
            reason = self.scrub(judgement.reason.encode()).decode(errors="replace")
            if judgement.action == "fatal":
                variable = f" (its key is in {order.upstream.key})" if order.upstream.key else ""
                raise GatewayFailure(f"upstream {name}{variable}: {reason}", reason)
            self._ledger.add_failed_try()
            progress.faults = [*progress.faults, reason][-FAULTS_KEPT:]
            self._lose(progress, started)
            await self._wait(name, reason, judgement.wait, progress)

    async def _judged(self, once: Callable[[], Awaitable[Answer]], order: Order) -> tuple[Answer | None, Judgement]:
        try:
            answer = await once()
        except (httpx.TransportError, httpx.DecodingError, OSError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                hint = "a file with that of its authority can be named by SSL_CERT_FILE"
                return None, Judgement("fatal", f"its certificate isn't trusted ({quote(str(error))}); {hint}")
            return None, Judgement("retry", f"{type(error).__name__}: {quote(str(error))}")
        return answer, judge(answer, order.route, order.stream and order.route.sse)

    def _lose(self, progress: Progress, since: float) -> None:
        now = time.monotonic()
        progress.lost_seconds += now - since
        self._ledger.add_lost(since, now)

    async def _wait(self, name: str, reason: str, wanted: float | None, progress: Progress) -> None:
        """Wait before the next try. Raises GatewayFailure if patience is at its end."""
        left = self._config.patience_seconds - progress.lost_seconds
        backoff = min(LONGEST_WAIT, self._config.retry_seconds * 2 ** min(progress.tries - 1, 10)) * random.uniform(
            0.75, 1.25
        )
        seconds = min(backoff, left) if wanted is None else wanted
        if left <= 0 or seconds > left:
            spent = f"{progress.tries} tries in {progress.lost_seconds:.0f} s failed"
            raise GatewayFailure(
                f"upstream {name}: {spent}, the last one: {reason}", f"{spent}, the last one: {reason}"
            )
        started = time.monotonic()
        while (rest := started + seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, 1.0))
            if self._ledger.verdict:  # another call has ended the attempt
                raise GatewayFailure(self._ledger.verdict[1])
        self._lose(progress, started)

    def _client(self, upstream: Upstream) -> httpx.AsyncClient:
        """A client for one call: connections that went stale between two calls can't spoil any."""
        timeout = httpx.Timeout(self._config.timeout_seconds, connect=CONNECT_SECONDS)
        if upstream.url.startswith("http://"):
            return httpx.AsyncClient(verify=False, timeout=timeout)  # reading the certificates takes a while
        if self._context is None:
            self._context = httpx.create_ssl_context()
        return httpx.AsyncClient(verify=self._context, timeout=timeout)

    async def _send(self, client: httpx.AsyncClient, order: Order, progress: Progress) -> Answer:
        request = client.build_request(
            "POST", address(order), content=json.dumps(order.body).encode(), headers=self._headers(order)
        )
        response = await client.send(request, stream=True)
        try:
            async for block in response.aiter_bytes():
                progress.received += block
                if len(progress.received) > MAX_ANSWER_BYTES:
                    raise httpx.DecodingError(f"the answer has more than {MAX_ANSWER_BYTES:,} bytes")
        finally:
            await response.aclose()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, bytes(progress.received))

    def _headers(self, order: Order) -> dict[str, str]:
        headers = {name: order.headers[name] for name in PASSED_HEADERS if name in order.headers}
        headers["content-type"] = "application/json"
        headers["accept"] = "text/event-stream" if order.stream and order.route.sse else "application/json"
        headers["user-agent"] = f"mlebench/{__version__}"
        if key := self._keys[order.upstream.name]:
            headers |= order.upstream.key_header(order.route.dialect, key)
        return headers


def adapt(order: Order, answer: Answer) -> str | None:
    """Take a parameter out of a request whose model doesn't know it; what was done, None if it isn't that.

    Agents give the same parameters to all models, but some refuse a temperature, or call their limit otherwise.
    """
    if answer.status != 400 or order.route.dialect != "openai-chat":
        return None
    error = _error_of(answer)
    parameter = error.get("param")
    if error.get("code") not in ("unsupported_value", "unsupported_parameter") or parameter not in order.body:
        return None
    if parameter in ("temperature", "top_p"):
        del order.body[parameter]
        return f"{parameter} removed"
    if parameter == "max_tokens" and "max_completion_tokens" not in order.body:
        order.body["max_completion_tokens"] = order.body.pop("max_tokens")
        return "max_tokens became max_completion_tokens"
    return None


def _error_of(answer: Answer) -> dict[str, Any]:
    try:
        content = json.loads(answer.body)
    except ValueError:
        return {}
    error = content.get("error") if isinstance(content, dict) else None
    return error if isinstance(error, dict) else {}


def address(order: Order) -> str:
    """The URL to call."""
    route = order.route
    if route.dialect == "google":
        verb = "countTokens" if route.operation == "count" else "generateContent"
        verb = "streamGenerateContent" if route.stream else verb
        url = httpx.URL(f"{order.upstream.url}/{route.version}/models/{order.model.name}:{verb}")
    else:
        counting = "/count_tokens" if route.operation == "count" else ""
        url = httpx.URL(order.upstream.address(route.dialect) + counting)
    query = {name: order.query[name] for name in PASSED_QUERIES if name in order.query}
    return str(url.copy_merge_params(query) if query else url)
