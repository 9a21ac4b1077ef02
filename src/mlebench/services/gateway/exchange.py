"""One exchange over HTTP: the request is taken in, its client is kept waiting, and answered whatever happens."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from mlebench.services.gateway.dialects import (
    Route,
    error_document,
    error_event,
    find_route,
    guess_dialect,
    model_list,
    one_model,
    waiting,
)
from mlebench.services.gateway.requests import MAX_BODY_BYTES, Call, Rejection, Reply, json_reply, read_object

if TYPE_CHECKING:
    from mlebench.services.gateway.app import Gateway

QUIET_WITHOUT_STREAM = 4  # times as long
STREAM_TYPE = "text/event-stream; charset=utf-8"


class Endpoint:
    """The app's only end point."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await Exchange(self._gateway, scope, receive, send).run()


class Exchange:
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
            return json_reply({"status": "running"})
        gateway.require_token(self._headers, self._query, route.dialect)
        if route.operation == "models":
            return self._models(route)
        gateway.require_no_verdict(route.dialect)
        body = await self._read_body(held)
        prepared = gateway.prepare(route, body)
        self._events = prepared.stream and route.sse
        call = Call(route, self._path, self._headers, self._query, prepared, self._original, self._size, started)
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
            return json_reply(model_list(route.dialect, [model.short_name for model in models]))
        if self._gateway.config.find(route.model) is None:
            raise Rejection(404, "model_not_found", f'the model "{route.model[:200]}" is not allowed here')
        return json_reply(one_model(route.dialect, route.model))

    async def _read_body(self, held: AsyncExitStack) -> dict[str, Any]:
        """The request's JSON object. Raises Rejection if it is too large or none."""
        if self._headers.get("content-encoding", "identity").lower() != "identity":
            raise Rejection(415, "compressed", "compressed requests can't be read; send plain JSON")
        length = self._headers.get("content-length", "")
        size = int(length) if length.isdigit() and len(length) < 20 else MAX_BODY_BYTES
        if size <= MAX_BODY_BYTES:
            await held.enter_async_context(self._gateway.room.taken(size))
        blocks = []
        async for block in self._request.stream():
            self._size += len(block)
            if max(self._size, size) > MAX_BODY_BYTES:
                raise Rejection(413, "too_large", f"the request has more than {MAX_BODY_BYTES:,} bytes")
            blocks.append(block)
        raw = b"".join(blocks)
        self._original = read_object(raw)
        asked = self._original.get("model")
        self._asked = asked[:200] if isinstance(asked, str) else None
        return read_object(raw)  # another copy, to be cleaned

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
            await self._finish(json_reply(error_document(self._dialect, status, code, message), status))

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


def _document(body: bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        content = json.loads(body)
        if isinstance(content, dict):
            return content
    return {"error": {"message": body[:1000].decode(errors="replace"), "code": None}}
