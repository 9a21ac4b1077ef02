"""The gateway itself: takes an agent's requests, and answers each out of a model, a recording, or with an error."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import time
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route as WebRoute
from starlette.types import Receive, Scope, Send

from mlebench.errors import UsageError
from mlebench.services.gateway.answers import Answer, Judgement
from mlebench.services.gateway.budget import SPENT, Ledger, ModelUse
from mlebench.services.gateway.calls import Caller, GatewayFailure, Order, Progress
from mlebench.services.gateway.config import GatewayConfig, Model, read_key, require_library
from mlebench.services.gateway.dialects import (
    Route,
    error_document,
    error_event,
    find_route,
    guess_dialect,
    model_list,
    one_model,
    stop_status,
    waiting,
)
from mlebench.services.gateway.policy import Refused, clean
from mlebench.services.gateway.recording import Recorder, body_fields, recorded_body
from mlebench.services.gateway.replay import Replay, request_key, request_shape
from mlebench.services.gateway.streams import readable_events
from mlebench.services.gateway.usage import Tokens, tokens_of

MAX_BODY_BYTES = 64 << 20
BIG_BODY_BYTES = 4 << 20
BIG_BODIES = 4  # at a time; the memory is the host's
MAX_DEPTH = 100
MAX_REFUSALS_RECORDED = 10_000
MAX_REFUSED_BYTES = 64 << 10  # of a request that is recorded although it was refused
MAX_FAULTY_BYTES = 1 << 20  # and of one that the upstream refused
QUIET_WITHOUT_STREAM = 4  # times as long
STREAM_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """What a client gets."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Rejection(Exception):
    """A request that is answered by the gateway itself, with an error; it is recorded as refused."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Gateway:
    """The way of one attempt to its models. `app` is to be served; `use` and `verdict` may be read by any thread.

    `log` becomes the recording (gateway.jsonl), `token` is what clients have to show. With `replay`, a recording of
    an earlier attempt, answers come from there, and no key is needed. Raises UsageError if a key isn't set.
    """

    def __init__(
        self,
        config: GatewayConfig,
        log: Path,
        token: str,
        replay: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self._token = token.encode()
        self._ledger = Ledger(config)
        if replay and log.exists() and log.samefile(replay):
            raise UsageError(f"{log} can't be replayed and written at once")
        self._replay = Replay(replay) if replay else None
        keys = {} if replay else {each.name: read_key(each, environ) for each in config.upstreams}
        if not replay:
            for upstream in config.upstreams:
                require_library(upstream)
        self._caller = Caller(config, self._ledger, keys)
        self._places = asyncio.Semaphore(config.max_concurrent)
        self._big_places = asyncio.Semaphore(BIG_BODIES)
        self._answer_ids: set[str] = set()
        self._refusals = 0
        self._recorder = Recorder(log)
        self.app = Starlette(routes=[WebRoute("/{path:path}", _Endpoint(self))])

    @property
    def use(self) -> ModelUse:
        """What the attempt has used up to now."""
        return self._ledger.use

    @property
    def verdict(self) -> tuple[str, str] | None:
        """("budget-spent" or "gateway-error", reason) once the attempt has to end, else None."""
        return self._ledger.verdict

    def close(self) -> None:
        """Close the recording, after the app is no longer served."""
        self._recorder.close()

    def require_token(self, headers: Mapping[str, str], query: Mapping[str, str], dialect: str) -> None:
        """Raise Rejection if a client doesn't show the attempt's token, by any of the dialects' ways."""
        bearer = headers.get("authorization", "")
        scheme, _, value = bearer.partition(" ")
        shown = [value.strip()] if scheme.lower() == "bearer" else []
        shown += [headers.get("x-api-key"), headers.get("x-goog-api-key"), query.get("key")]
        if not any(hmac.compare_digest(each.encode(), self._token) for each in shown if each):
            message = "the key is not this attempt's token; it is in the environment, for example as OPENAI_API_KEY"
            raise Rejection(stop_status(dialect), "wrong_token", message)

    def require_no_verdict(self, dialect: str) -> None:
        """Raise Rejection if the attempt has to end."""
        if self.verdict:
            raise self._verdict_rejection(dialect)

    def _verdict_rejection(self, dialect: str) -> Rejection:
        """The error that tells a client to give up; what an upstream said is not for the agent."""
        end, reason = self.verdict or ("", "")
        message = f"the budget is spent: {reason}" if end == SPENT else "the way to the model failed"
        code = end.replace("-", "_")
        return Rejection(stop_status(dialect), code, f"{message}. This attempt gets no further answers of a model.")

    def prepare(self, route: Route, body: dict[str, Any]) -> _Prepared:
        """Judge a request before anything is spent on it. Raises Rejection."""
        asked = route.model if route.model is not None else body.get("model")
        if not isinstance(asked, str):
            raise Rejection(400, "invalid_request", '"model" is missing, or is no text')
        model = self.config.find(asked)
        if model is None:
            known = ", ".join(each.short_name for each in self.config.models)
            raise Rejection(404, "model_not_found", f'the model "{asked[:200]}" is not allowed here; there is: {known}')
        upstream = self.config.upstream(model)
        if route.dialect not in upstream.dialects:
            spoken = ", ".join(upstream.dialects)
            raise Rejection(404, "unknown_dialect", f"{asked} can't be asked in {route.dialect}, only in: {spoken}")
        stream = route.stream or (route.dialect != "google" and body.get("stream") is True)
        key = request_key(route, stream, model.full_name, body)
        shape = request_shape(route, stream, model.full_name, body)
        removed: list[str] = []
        if not self.config.provider_tools:
            try:
                removed = clean(route.dialect, body, self._answer_ids)
            except Refused as refused:
                raise Rejection(400, "not_allowed", str(refused)) from refused
            self._ledger.add_removed(removed)
        return _Prepared(asked, model, stream, key, shape, removed, body)

    def record(self, entry: Mapping[str, Any]) -> None:
        """Append a call to the recording; an attempt that can't be recorded has to end."""
        try:
            self._recorder.write({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
        except OSError as error:
            self._ledger.condemn(f"the recording can't be written: {error}")
            raise

    def refuse(self, entry: Mapping[str, Any], request: Any, size: int) -> None:
        """Count and record a request that isn't relayed. There may be any number of them, but not in the recording."""
        self._ledger.add_refused()
        self._refusals += 1
        if self._refusals <= MAX_REFUSALS_RECORDED:
            with suppress(OSError):  # that is in the verdict already
                self.record({**entry, **_bounded("request", request, size, MAX_REFUSED_BYTES)})

    async def answer(self, call: _Call) -> Reply:
        """Answer a request that was prepared, count what it uses, and record it. Raises Rejection."""
        async with self._places:
            self._ledger.begin()
            self.require_no_verdict(call.route.dialect)
            call.begun = True
            try:
                if self._replay:
                    return self._answer_again(self._replay, call)
                return await self._answer_anew(call)
            except GatewayFailure as failure:
                self._ledger.condemn(str(failure))
                self.record({**call.entry(), "status": None, "error": str(failure), "request": call.original})
                rejection = self._verdict_rejection(call.route.dialect)
                document = error_document(call.route.dialect, rejection.status, rejection.code, rejection.message)
                return _json(document, rejection.status)
            except asyncio.CancelledError:
                self._count_cancelled(call)
                raise

    async def _answer_anew(self, call: _Call) -> Reply:
        prepared, route = call.prepared, call.route
        body, hidden = self._outgoing(prepared, route)
        order = Order(
            prepared.model,
            self.config.upstream(prepared.model),
            route,
            prepared.stream,
            body,
            call.headers,
            call.query,
        )
        answer, judgement = await self._caller.call(order, call.progress)
        succeeded = 200 <= answer.status < 300
        tokens = tokens_of(route.dialect, judgement.documents) if succeeded and route.operation == "call" else None
        if route.operation == "call" and succeeded:
            self._count(call, tokens)
        self._remember_ids(route, judgement.documents)
        content = self._caller.scrub(_without_usage(answer, judgement) if hidden else answer.body)
        reply = Reply(answer.status, content, answer.content_type)
        self._record_answer(call, reply, tokens)
        return reply

    def _outgoing(self, prepared: _Prepared, route: Route) -> tuple[dict[str, Any], bool]:
        """The body for the upstream, and whether it asks for an event that the client didn't ask for."""
        body = prepared.body
        if route.dialect == "google":
            return body, False
        body["model"] = prepared.model.name
        counted = route.dialect in ("openai-chat", "openai-completions") and prepared.stream
        upstream = self.config.upstream(prepared.model)
        if not counted or not upstream.stream_usage:
            return body, False
        options = body.get("stream_options")
        options = options if isinstance(options, dict) else {}
        body["stream_options"] = options | {"include_usage": True}
        return body, options.get("include_usage") is not True

    def _answer_again(self, replay: Replay, call: _Call) -> Reply:
        prepared = call.prepared
        found = replay.take(prepared.key, prepared.shape)
        if found is None:
            raise GatewayFailure(
                f"the replay has no answer to request {self.use.requests} ({call.route.dialect}, {prepared.asked})"
            )
        entry, exact = found
        call.replay = "exact" if exact else "next"
        self._ledger.add_replayed(exact)
        response = entry["response"]
        reply = Reply(response["status"], recorded_body(response), response["content_type"])
        tokens = Tokens(**entry["tokens"]) if entry.get("tokens") else None
        if call.route.operation == "call" and 200 <= reply.status < 300:
            self._count(call, tokens)
        documents = [event.document for event in readable_events(reply.body)] if prepared.stream else []
        with suppress(ValueError):
            documents = documents or [json.loads(reply.body)]
        self._remember_ids(call.route, documents)
        self._record_answer(call, reply, tokens)
        return reply

    def _count(self, call: _Call, tokens: Tokens | None) -> None:
        price = call.prepared.model.price
        call.dollars = price.dollars(tokens) if price and tokens else None
        self._ledger.add(tokens, call.dollars)

    def _count_cancelled(self, call: _Call) -> None:
        """The client went away: the provider may charge for what it had begun, and told up to then."""
        documents = [event.document for event in readable_events(bytes(call.progress.received))]
        tokens = tokens_of(call.route.dialect, documents)
        if call.route.operation == "call":
            self._count(call, tokens)
        entry = {**call.entry(), "status": None, "error": "the client went away", "request": call.original}
        self.record({**entry, "tokens": _plain(tokens), "dollars": call.dollars})

    def _record_answer(self, call: _Call, reply: Reply, tokens: Tokens | None) -> None:
        response = {"status": reply.status, "content_type": reply.content_type, **body_fields(reply.body)}
        entry = {**call.entry(), "status": reply.status, "tokens": _plain(tokens), "dollars": call.dollars}
        limit = None if 200 <= reply.status < 300 else MAX_FAULTY_BYTES
        entry |= _bounded("request", call.original, call.size, limit)
        self.record({**entry, "response": response})

    def _remember_ids(self, route: Route, documents: list[Any]) -> None:
        """Later requests may refer to these: they are this attempt's own."""
        if route.dialect != "openai-responses":
            return
        for document in documents:
            if isinstance(document, dict):
                response = document.get("response", document)
                items = [*(response.get("output") or ()), document.get("item")] if isinstance(response, dict) else []
                for each in [response, *items]:
                    if isinstance(each, dict) and isinstance(each.get("id"), str):
                        self._answer_ids.add(each["id"])


@dataclass(frozen=True)
class _Prepared:
    """A request that may be relayed; `body` is without what was removed."""

    asked: str
    model: Model
    stream: bool
    key: str
    shape: str
    removed: list[str]
    body: dict[str, Any]


@dataclass
class _Call:
    """A request on its way."""

    route: Route
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    prepared: _Prepared
    original: Any
    size: int
    started: float
    progress: Progress = field(default_factory=Progress)
    dollars: float | None = None
    replay: str | None = None
    begun: bool = False

    def entry(self) -> dict[str, Any]:
        """What the recording says of it, but for request and answer."""
        prepared, progress = self.prepared, self.progress
        entry = {
            "dialect": self.route.dialect,
            "path": self.path,
            "asked": prepared.asked,
            "model": prepared.model.full_name,
            "stream": prepared.stream,
            "key": prepared.key,
            "shape": prepared.shape,
            "removed": prepared.removed,
            "seconds": round(time.monotonic() - self.started, 3),
            "lost_seconds": round(progress.lost_seconds, 3),
            "tries": progress.tries,
            "faults": progress.faults,
            "adapted": progress.adapted,
        }
        return entry | ({"replay": self.replay} if self.replay else {})


class _Endpoint:
    """The app's only end point."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _Exchange(self._gateway, scope, receive, send).run()


class _Exchange:
    """One request and its answer."""

    def __init__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        self._gateway, self._send = gateway, send
        self._request = Request(scope, receive)
        self._receive = receive
        self._path = scope["path"]
        self._method = scope["method"]
        self._headers = {name.lower(): value for name, value in self._request.headers.items()}
        self._query = dict(self._request.query_params)
        self._dialect = guess_dialect(self._path, self._headers)
        self._original: Any = None
        self._size = 0
        self._asked: str | None = None
        self._started = False
        self._events = False

    async def run(self) -> None:
        """Answer the request, whatever it is."""
        async with AsyncExitStack() as held:
            try:
                await self._finish(await self._reply(held))
            except Rejection as rejection:
                self._refuse(rejection.status, rejection.message)
                await self._fail(rejection.status, rejection.code, rejection.message)
            except ClientDisconnect:
                self._refuse(None, "the client went away before its request was here")
            except Exception as error:  # the attempt goes on
                self._refuse(500, f"fault of the gateway: {type(error).__name__}: {error}")
                await self._fail(500, "gateway_fault", f"the gateway failed at this request ({type(error).__name__})")

    async def _reply(self, held: AsyncExitStack) -> Reply | None:
        gateway, started = self._gateway, time.monotonic()
        route = self._find_route()
        self._dialect = route.dialect
        if route.operation == "health":
            return _json({"status": "running"})
        gateway.require_token(self._headers, self._query, route.dialect)
        if route.operation == "models":
            return self._models(route)
        gateway.require_no_verdict(route.dialect)
        body = await self._read_body(held)
        prepared = gateway.prepare(route, body)
        self._events = prepared.stream and route.sse
        call = _Call(route, self._path, self._headers, self._query, prepared, self._original, self._size, started)
        reply = await self._wait_for(gateway.answer(call))
        if reply is None and not call.begun:
            self._refuse(None, "the client went away before it was its turn")
        return reply

    def _find_route(self) -> Route:
        if "upgrade" in self._headers and "upgrade" in self._headers.get("connection", "").lower():
            raise Rejection(426, "no_upgrade", "this gateway speaks plain HTTP only, no WebSocket; use POST requests")
        route = find_route(self._path, self._query, self._headers)
        if route is None:
            raise Rejection(
                404, "unknown_path", f"{self._path[:200]} is no path for calling a model; nothing else is relayed"
            )
        allowed = ("GET", "HEAD") if route.operation in ("models", "health") else ("POST",)
        if self._method not in allowed:
            raise Rejection(405, "wrong_method", f"{self._method} is not possible here, only {' or '.join(allowed)}")
        return route

    def _models(self, route: Route) -> Reply:
        models = self._gateway.config.models
        if route.model is None:
            return _json(model_list(route.dialect, [model.short_name for model in models]))
        if self._gateway.config.find(route.model) is None:
            raise Rejection(404, "model_not_found", f'the model "{route.model[:200]}" is not allowed here')
        return _json(one_model(route.dialect, route.model))

    async def _read_body(self, held: AsyncExitStack) -> dict[str, Any]:
        """The request's JSON object. Raises Rejection if it is too large or none."""
        if self._headers.get("content-encoding", "identity").lower() != "identity":
            raise Rejection(415, "compressed", "compressed requests can't be read; send plain JSON")
        length = self._headers.get("content-length", "")
        announced = int(length) if length.isdigit() and len(length) < 20 else None
        if announced is None or announced > BIG_BODY_BYTES:
            await held.enter_async_context(self._gateway._big_places)
        blocks = []
        async for block in self._request.stream():
            self._size += len(block)
            if self._size > MAX_BODY_BYTES:
                raise Rejection(413, "too_large", f"the request has more than {MAX_BODY_BYTES:,} bytes")
            blocks.append(block)
        raw = b"".join(blocks)
        self._original = _read_object(raw)
        asked = self._original.get("model")
        self._asked = asked[:200] if isinstance(asked, str) else None
        return _read_object(raw)  # another copy, to be cleaned

    async def _wait_for(self, answer: Awaitable[Reply]) -> Reply | None:
        """The answer; the client is kept waiting meanwhile. None if it goes away, which cancels the call."""
        quiet = self._gateway.config.quiet_seconds * (1 if self._events else QUIET_WITHOUT_STREAM)
        working = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(self._until_gone())
        try:
            while True:
                await asyncio.wait((working, gone), timeout=quiet, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return working.result()
                if gone.done():
                    return None
                await self._say_waiting()
        finally:
            gone.cancel()
            working.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _say_waiting(self) -> None:
        if not self._started:
            await self._start(200, STREAM_TYPE if self._events else "application/json")
        await self._send_body(waiting(self._dialect, self._events), more=True)

    async def _finish(self, reply: Reply | None) -> None:
        if reply is None:
            return
        if not self._started:
            await self._start(reply.status, reply.content_type, len(reply.body))
        elif reply.status >= 400 and not self._events:
            return  # too late for a status; a connection that breaks makes the client ask again
        elif reply.status >= 400:
            await self._send_body(error_event(self._dialect, _document(reply.body)), more=False)
            return
        await self._send_body(b"" if self._method == "HEAD" else reply.body, more=False)

    async def _fail(self, status: int, code: str, message: str) -> None:
        with suppress(OSError):
            await self._finish(_json(error_document(self._dialect, status, code, message), status))

    def _refuse(self, status: int | None, message: str) -> None:
        entry = {
            "dialect": self._dialect,
            "path": self._path[:500],
            "method": self._method,
            "asked": self._asked,
            "status": status,
            "refused": message,
        }
        self._gateway.refuse(entry, self._original, self._size)

    async def _start(self, status: int, content_type: str, length: int | None = None) -> None:
        self._started = True
        headers = [(b"content-type", content_type.encode("latin-1", "replace"))]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


def _read_object(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Rejection(400, "invalid_request", f"the request is no JSON: {str(error)[:200]}") from error
    if not isinstance(content, dict):
        raise Rejection(400, "invalid_request", "the request is no JSON object")
    if _is_deeper(content, MAX_DEPTH):
        raise Rejection(400, "invalid_request", f"the request is nested more than {MAX_DEPTH} deep")
    return content


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")


def _is_deeper(content: Any, depth: int) -> bool:
    level = [content]
    for _ in range(depth):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _without_usage(answer: Answer, judgement: Judgement) -> bytes:
    """A stream without the event of counts alone, for a client that didn't ask for it."""
    kept = []
    for event in judgement.events or ():
        document = event.document
        if isinstance(document, dict) and document.get("choices") == [] and document.get("usage"):
            continue
        kept.append(event.raw)
    return b"".join(kept) if judgement.events else answer.body


def _bounded(name: str, value: Any, size: int, limit: int | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {name: value} if limit is None or size <= limit else {f"{name}_omitted_bytes": size}


def _plain(tokens: Tokens | None) -> dict[str, int] | None:
    return None if tokens is None else asdict(tokens)


def _json(document: Mapping[str, Any], status: int = 200) -> Reply:
    return Reply(status, json.dumps(document).encode())


def _document(body: bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        content = json.loads(body)
        if isinstance(content, dict):
            return content
    return {"error": {"message": body[:1000].decode(errors="replace"), "code": None}}
