"""The scripted model server: true dialects over true TCP, answered by engineers instead of a model."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mlebench.errors import UsageError
from mlebench.testing.conversation import Engineer, Reply, Request, Use, cut, use_of
from mlebench.testing.dialects import anthropic, chat, embeddings, google, responses
from mlebench.testing.dialects.common import Event
from mlebench.testing.faults import SPOILING, Fault

Script = Engineer | Sequence[Reply | Fault | str] | Mapping[str, Engineer | Sequence[Reply | Fault | str]] | None
START_SECONDS = 30
DRIPS = 10  # parts of a dripping answer that is no stream
_DROP = "mlebench.testing.drop"  # in a request's scope: drops its connection


@dataclass(frozen=True)
class Dialect:
    """How one path is read and answered."""

    read: Callable[[Mapping[str, Any]], Request]
    write: Callable[[Request, Reply, Use], Mapping[str, Any]]
    events: Callable[[Request, Reply, Use], Iterator[Event]] | None = None


DIALECTS = {
    "/v1/chat/completions": Dialect(chat.read_chat, chat.write_chat, chat.chat_events),
    "/v1/completions": Dialect(chat.read_completion, chat.write_completion, chat.completion_events),
    "/v1/responses": Dialect(responses.read, responses.write, responses.events),
    "/v1/embeddings": Dialect(embeddings.read, embeddings.write),
    "/v1/messages": Dialect(anthropic.read, anthropic.write, anthropic.events),
}


@dataclass
class Recorded:
    """One request that came in, and what was answered; `use` is what the client was told in full."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    time: float
    status: int = 0
    request: Request | None = None
    reply: Reply | None = None
    fault: Fault | None = None
    use: Use | None = None


class ScriptedApp:
    """The ASGI app. `requests`, `use` and `errors` (engineers' own failures) grow as it is used."""

    def __init__(
        self, script: Script = None, *, faults: Mapping[int, Fault] | None = None, key: str | None = None
    ) -> None:
        self._engineers = _engineers(script)
        self._faults, self._key = dict(faults or {}), key
        self._number, self._asked = 0, Counter[str]()
        self._lock = threading.Lock()
        self.requests: MutableSequence[Recorded] = []
        self.use: dict[str, Use] = {}
        self.errors: list[Exception] = []
        post = [Route(path, partial(self._generate, dialect), methods=["POST"]) for path, dialect in DIALECTS.items()]
        self._app = Starlette(
            routes=[
                *post,
                Route("/v1/messages/count_tokens", self._count_messages, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/v1/models/{model:path}", self._model),
                Route("/v1beta/models", self._google_models),
                Route("/v1beta/models/{call:path}", self._google, methods=["POST"]),
                Route("/", self._home),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Keeps the way to drop its connection, which ASGI itself doesn't offer."""
        cycle = getattr(send, "__self__", None)
        await self._app({**scope, _DROP: getattr(cycle, "transport", None)}, receive, send)

    @property
    def total(self) -> Use:
        """The tokens of all models."""
        total = Use()
        for use in self.use.values():
            total.add(use)
        return total

    # --- what generates

    async def _generate(self, dialect: Dialect, http: HttpRequest) -> Response:
        recorded, body = await self._record(http)
        if body is None:
            return _refusal(recorded, Fault.error(400, "We could not parse the JSON body of your request."))
        return await self._answer(dialect, dialect.read, http, recorded, body)

    async def _google(self, http: HttpRequest) -> Response:
        recorded, body = await self._record(http)
        model, _, method = http.path_params["call"].rpartition(":")
        if body is None or method not in ("generateContent", "streamGenerateContent", "countTokens"):
            return _refusal(recorded, Fault.error(400, f'Invalid JSON payload, or no method "{method}".'))
        read = partial(google.read, model=model, stream=method.startswith("stream"))
        if method == "countTokens":
            request = read(body.get("generateContentRequest") or body)
            return self._counted(recorded, {"totalTokens": use_of(request, Reply()).input_tokens})
        return await self._answer(Dialect(read, google.write, google.events), read, http, recorded, body)

    async def _answer(
        self,
        dialect: Dialect,
        read: Callable[[Mapping[str, Any]], Request],
        http: HttpRequest,
        recorded: Recorded,
        body: Mapping[str, Any],
    ) -> Response:
        if not self._authorized(recorded):
            return _refusal(recorded, Fault.unauthorized())
        try:
            request = read(body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            return _refusal(recorded, Fault.error(400, f"Invalid request: {error!r}"))
        answer = self._ask(request, recorded)
        if isinstance(answer, Fault):
            recorded.fault = answer
            if answer.kind not in SPOILING:
                return await _fail(answer, http, recorded)
            answer = recorded.reply or Reply(answer.text)
        assert recorded.request is not None
        await asyncio.sleep(answer.delay)
        return self._deliver(dialect, http, recorded, cut(answer, request.stop))

    def _ask(self, request: Request, recorded: Recorded) -> Reply | Fault:
        """What the script says. A fault that spoils an answer leaves the answer in `recorded.reply`."""
        with self._lock:
            self._number += 1
            recorded.request = request
            engineer = _find(self._engineers, request.model)
            if engineer is None:
                return Fault.error(404, f"The model `{request.model}` does not exist or you do not have access to it.")
            fault = self._faults.get(self._number)
            if fault is not None and fault.kind not in SPOILING:
                return fault
            answer = self._consult(engineer, request, recorded)
            if isinstance(answer, Fault):
                return answer
            recorded.reply = answer
            return fault or answer

    def _consult(self, engineer: Engineer, request: Request, recorded: Recorded) -> Reply | Fault:
        """The engineer's answer; vectors need none. Its failure is kept, to be raised when the server ends."""
        if request.dialect == "openai-embeddings":
            return Reply()
        self._asked[request.model] += 1
        recorded.request = request = replace(request, number=self._asked[request.model])
        try:
            answer = engineer(request)
        except Exception as error:
            self.errors.append(error)
            return Fault.error(500, f"the engineer failed: {error!r}")
        return Reply(answer) if isinstance(answer, str) else answer

    def _deliver(self, dialect: Dialect, http: HttpRequest, recorded: Recorded, reply: Reply) -> Response:
        request, fault = recorded.request, recorded.fault
        assert request is not None
        recorded.reply, recorded.status = reply, 200
        use = use_of(request, reply)
        if request.stream and dialect.events is not None:
            events = dialect.events(request, reply, use)
            array = request.dialect == "google" and http.query_params.get("alt") != "sse"
            blocks = _as_array(events) if array else map(_encoded, events)
            kind = "application/json" if array else "text/event-stream"
        else:
            whole, kind = json.dumps(dialect.write(request, reply, use)).encode(), "application/json"
            if fault is None:
                self._told(recorded, use)
                return Response(whole, media_type=kind)
            blocks = iter([whole]) if fault.kind == "wrong-json" else _parts(whole)
        body = _spoilt(blocks, fault, partial(self._told, recorded, use))
        return StreamingResponse(body, media_type=kind, headers={"cache-control": "no-cache"})

    def _told(self, recorded: Recorded, use: Use) -> None:
        assert recorded.request is not None
        with self._lock:
            recorded.use = use
            self.use.setdefault(recorded.request.model, Use()).add(use)

    # --- what only tells

    async def _count_messages(self, http: HttpRequest) -> Response:
        recorded, body = await self._record(http)
        if body is None:
            return _refusal(recorded, Fault.error(400, "The body is not JSON."))
        recorded.request = anthropic.read(body)
        return self._counted(recorded, {"input_tokens": use_of(recorded.request, Reply()).input_tokens})

    def _counted(self, recorded: Recorded, count: Mapping[str, int]) -> Response:
        if not self._authorized(recorded):
            return _refusal(recorded, Fault.unauthorized())
        recorded.status = 200
        return JSONResponse(count)

    async def _models(self, http: HttpRequest) -> Response:
        recorded, _ = await self._record(http)
        if not self._authorized(recorded):
            return _refusal(recorded, Fault.unauthorized())
        recorded.status = 200
        models = [_model_entry(name, recorded) for name in self.models]
        if "anthropic-version" in recorded.headers:
            return JSONResponse({"data": models, "has_more": False, "first_id": None, "last_id": None})
        return JSONResponse({"object": "list", "data": models})

    async def _model(self, http: HttpRequest) -> Response:
        recorded, _ = await self._record(http)
        name = http.path_params["model"]
        if not self._authorized(recorded):
            return _refusal(recorded, Fault.unauthorized())
        if _find(self._engineers, name) is None:
            return _refusal(recorded, Fault.error(404, f"The model `{name}` does not exist"))
        recorded.status = 200
        return JSONResponse(_model_entry(name, recorded))

    async def _google_models(self, http: HttpRequest) -> Response:
        recorded, _ = await self._record(http)
        recorded.status = 200
        methods = ["generateContent", "countTokens"]
        listed = [{"name": f"models/{name}", "supportedGenerationMethods": methods} for name in self.models]
        return JSONResponse({"models": listed})

    async def _home(self, http: HttpRequest) -> Response:
        recorded, _ = await self._record(http)
        recorded.status = 200
        use = {name: vars(each) for name, each in self.use.items()}
        return JSONResponse({"status": "running", "models": self.models, "use": use})

    @property
    def models(self) -> list[str]:
        """The names that have an engineer; "scripted" where one script answers to every name."""
        return [name or "scripted" for name in self._engineers]

    # --- the edges

    async def _record(self, http: HttpRequest) -> tuple[Recorded, Any]:
        raw = await http.body()
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        headers = dict(http.headers)
        said = raw.decode(errors="replace") if body is None else body
        recorded = Recorded(http.method, http.url.path, headers, said, time.time())
        with self._lock:
            self.requests.append(recorded)
        return recorded, body if isinstance(body, dict) else None

    def _authorized(self, recorded: Recorded) -> bool:
        headers = recorded.headers
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        given = headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer
        return self._key is None or given == self._key


def _engineers(script: Script) -> dict[str, Engineer]:
    """By model name; the name "" answers to all."""
    if script is None:
        from mlebench.testing.engineers import engineers_by_name

        return engineers_by_name()
    if isinstance(script, Mapping):
        return {name: _engineer(each) for name, each in script.items()}
    return {"": _engineer(script)}


def _engineer(script: Engineer | Sequence[Reply | Fault | str]) -> Engineer:
    if callable(script):
        return script
    if isinstance(script, str):
        raise UsageError(f"a script is a list of replies, not one text: {script!r}. Write [{script!r}]")
    return _Recital(script)


class _Recital:
    """Plays the items of a script, one a request."""

    def __init__(self, items: Sequence[Reply | Fault | str]) -> None:
        self._items = list(items)
        self._played = 0

    def __call__(self, request: Request) -> Reply | Fault | str:  # noqa: ARG002 - as other engineers
        self._played += 1
        if self._played > len(self._items):
            raise IndexError(f"the script has {len(self._items)} items, and this is request {self._played}")
        return self._items[self._played - 1]


def _find(engineers: Mapping[str, Engineer], model: str) -> Engineer | None:
    """By the whole name, else by what stands after its last slash, else the one that answers to all."""
    return engineers.get(model) or engineers.get(model.rpartition("/")[2]) or engineers.get("")


def _model_entry(name: str, recorded: Recorded) -> dict[str, Any]:
    if "anthropic-version" in recorded.headers:
        return {"type": "model", "id": name, "display_name": name, "created_at": "2023-11-14T22:13:20Z"}
    return {"id": name, "object": "model", "created": chat.CREATED, "owned_by": "scripted"}


# --- answers that go wrong


async def _fail(fault: Fault, http: HttpRequest, recorded: Recorded) -> Response:
    """An answer that is none."""
    if fault.kind == "status":
        return _refusal(recorded, fault)
    if fault.kind == "disconnect":
        _transport(http.scope.get(_DROP)).abort()
        await asyncio.sleep(0)
        return Response()
    while not await http.is_disconnected():  # a hanging request ends when the client has enough, or the server ends
        await asyncio.sleep(0.05)
    return Response()


def _transport(found: Any) -> asyncio.Transport:
    if found is None:
        raise UsageError("connections can only be dropped under uvicorn: use serve(), not the app alone")
    return found


def _refusal(recorded: Recorded, fault: Fault) -> Response:
    recorded.fault, recorded.status = fault, fault.status
    content = _error_body(recorded, fault)
    return JSONResponse(content, fault.status, headers=dict(fault.headers))


_OPENAI_TYPES = {401: "invalid_request_error", 404: "invalid_request_error", 400: "invalid_request_error"}
_OPENAI_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def _error_body(recorded: Recorded, fault: Fault) -> dict[str, Any]:
    """The error in the form of the dialect in which was asked."""
    status, message = fault.status, fault.message
    if recorded.path.startswith("/v1/messages"):
        kind = _ANTHROPIC_TYPES.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}
    if recorded.path.startswith("/v1beta/"):
        return {"error": {"code": status, "message": message, "status": _GOOGLE_STATUS.get(status, "INTERNAL")}}
    kind = _OPENAI_TYPES.get(status, "requests" if status == 429 else "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _OPENAI_CODES.get(status)}}


def _encoded(event: Event) -> bytes:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _as_array(events: Iterator[Event]) -> Iterator[bytes]:
    """Google's streams are a JSON array, a part at a time, unless server-sent events are asked for."""
    for number, (_, data) in enumerate(events):
        yield (b"[" if number == 0 else b",\n") + json.dumps(data).encode()
    yield b"]"


def _parts(whole: bytes) -> Iterator[bytes]:
    size = max(1, -(-len(whole) // DRIPS))
    return (whole[start : start + size] for start in range(0, len(whole), size))


async def _spoilt(blocks: Iterator[bytes], fault: Fault | None, told: Callable[[], None]) -> AsyncIterator[bytes]:
    """The blocks, as the fault lets them through; `told` is called before the last if they are to arrive whole."""
    kind = fault.kind if fault else ""
    arriving = list(blocks)
    if kind in ("", "drip"):
        told()
    for number, block in enumerate(arriving):
        if kind == "broken-stream" and fault and number >= min(fault.after, len(arriving) - 1):
            raise ConnectionAbortedError("dropped, as the script says")  # uvicorn sends what it has, and closes
        if kind == "drip" and fault:
            await asyncio.sleep(fault.seconds)
        if kind == "wrong-json" and number == len(arriving) // 2:
            yield block[: len(block) // 2] + b"\n\n"
            continue
        yield block
        await asyncio.sleep(0)  # so that each is a write of its own


# --- serving


class Server(ScriptedApp):
    """A ScriptedApp that listens at `url`."""

    url: str = ""


@contextmanager
def serve(
    script: Script = None,
    *,
    faults: Mapping[int, Fault] | None = None,
    key: str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> Iterator[Server]:
    """Serve `script` over TCP, in a thread, until the block is left.

    `script` is one engineer for every model name, a list of replies and faults to play in this order, a table of
    either by model name, or None: all engineers of this package by their names. `faults` strike by the number of
    the request, from 1, and leave the script where it is. With a `key`, requests with another get 401.

    Raises what an engineer raised when the block is left, so that a faulty script can't pass for a faulty client.
    """
    server = Server(script, faults=faults, key=key)
    listener = _listen(host, port)
    with listener:
        server.url = f"http://{host}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            server, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none", proxy_headers=False
        )
        with _running(uvicorn.Server(config), listener):
            yield server
    if server.errors:
        raise server.errors[0]


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=128)
    except OSError as error:
        raise UsageError(f"can't listen on {host}:{port}: {error}. --port 0 takes any free port") from error


@contextmanager
def _running(server: uvicorn.Server, listener: socket.socket) -> Iterator[None]:
    thread = threading.Thread(target=partial(server.run, sockets=[listener]), daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    try:
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise UsageError("the scripted server could not be started")
            time.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
