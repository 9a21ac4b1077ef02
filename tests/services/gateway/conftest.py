"""A small upstream over true TCP that speaks all dialects and fails on demand, and a gateway before it."""

import json
import os
import socket
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from mlebench.services.gateway import Gateway, plan_gateway, read_recording
from mlebench.services.serving import serve

KEY = "sk-true-key-0123456789"
TOKEN = "token-of-the-attempt"
MODEL = "mine/solver"

CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
RESPONSES_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}
ANTHROPIC_USAGE = {"input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10}
GOOGLE_USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 15,
    "thoughtsTokenCount": 5,
    "totalTokenCount": 120,
}
TEXT = "Hello, wörld"


def chat(body):
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": CHAT_USAGE,
    }


def chat_events(body):
    start = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    for delta, reason in (({"role": "assistant", "content": "Hello, "}, None), ({"content": "wörld"}, "stop")):
        yield start | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield start | {"choices": [], "usage": CHAT_USAGE}
    yield "[DONE]"


def completion(body):
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "text": TEXT, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def completion_events(body):
    yield completion(body) | {"usage": None}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield completion(body) | {"choices": []}
    yield "[DONE]"


def embeddings(body):
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
        "model": body["model"],
        "usage": {"prompt_tokens": 100, "total_tokens": 100},
    }


def response(body, status="completed"):
    part = {"type": "output_text", "text": TEXT, "annotations": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": body["model"],
        "output": [message] if status == "completed" else [],
        "parallel_tool_calls": True,
        "temperature": 1,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1,
        "usage": RESPONSES_USAGE if status == "completed" else None,
    }


def response_events(body):
    message = response(body)["output"][0]
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    events = [
        {"type": "response.created", "response": response(body, "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": message | {"content": []}},
        {"type": "response.content_part.added", **place, "part": message["content"][0] | {"text": ""}},
        {"type": "response.output_text.delta", **place, "delta": TEXT, "logprobs": []},
        {"type": "response.output_text.done", **place, "text": TEXT, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": message["content"][0]},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": response(body)},
    ]
    yield from (event | {"sequence_number": number} for number, event in enumerate(events))


def message(body):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": ANTHROPIC_USAGE | {"output_tokens": 20},
    }


def message_events(body):
    start = message(body) | {"content": [], "stop_reason": None, "usage": ANTHROPIC_USAGE | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def generated(body):
    content = {"role": "model", "parts": [{"text": TEXT}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": GOOGLE_USAGE,
        "modelVersion": "solver",
    }


def generated_events(body):
    first = {"content": {"role": "model", "parts": [{"text": "Hello, "}]}, "index": 0}
    yield {"candidates": [first], "usageMetadata": {"promptTokenCount": 100}}
    last = {"content": {"role": "model", "parts": [{"text": "wörld"}]}, "index": 0, "finishReason": "STOP"}
    yield {"candidates": [last], "usageMetadata": GOOGLE_USAGE}


ANSWERS = {
    "/v1/chat/completions": (chat, chat_events),
    "/v1/completions": (completion, completion_events),
    "/v1/embeddings": (embeddings, None),
    "/v1/responses": (response, response_events),
    "/v1/messages": (message, message_events),
}


def encode(event) -> bytes:
    name = event.get("type") if isinstance(event, dict) else None
    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


@dataclass
class Seen:
    """A request that reached the upstream."""

    path: str
    query: str
    headers: dict
    body: dict


@dataclass
class Upstream:
    """What comes in is in `seen`; `script` holds what happens to the next requests: a Response, a callable or None."""

    url: str = ""
    seen: list = field(default_factory=list)
    script: deque = field(default_factory=deque)
    cancelled: threading.Event = field(default_factory=threading.Event)
    delay: float = 0

    async def __call__(self, request):
        body = await request.json()
        self.seen.append(Seen(request.url.path, request.url.query, dict(request.headers), body))
        play = self.script.popleft() if self.script else None
        if play is not None:
            result = play(request, body) if callable(play) and not isinstance(play, Response) else play
            if result is not None:
                return await result if hasattr(result, "__await__") else result
        return self.answer(request.url.path, body)

    def answer(self, path, body):
        if path.startswith("/v1beta/models/") or path.startswith("/v1/models/"):
            if path.endswith(":countTokens"):
                return JSONResponse({"totalTokens": 7})
            if path.endswith(":streamGenerateContent"):
                return stream(generated_events(body))
            return JSONResponse(generated(body))
        if path == "/v1/messages/count_tokens":
            return JSONResponse({"input_tokens": 7})
        plain, events = ANSWERS[path]
        return stream(events(body)) if body.get("stream") else JSONResponse(plain(body))


def stream(events, broken_after: int | None = None):
    """A stream of events; the connection breaks after so many."""

    async def blocks():
        for number, event in enumerate(events):
            if number == broken_after:
                raise ConnectionError("broken by the test")
            yield encode(event)

    return StreamingResponse(blocks(), media_type="text/event-stream")


@contextmanager
def serve_tcp(app, **tls):
    """Serve an app on a free port of this machine; gives its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none", **tls
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def shared_upstream():
    upstream = Upstream()
    app = Starlette(routes=[Route("/{path:path}", upstream.__call__, methods=["GET", "POST"])])
    with serve_tcp(app) as upstream.url:
        yield upstream


@pytest.fixture
def upstream(shared_upstream):
    shared_upstream.seen.clear()
    shared_upstream.script.clear()
    shared_upstream.cancelled.clear()
    return shared_upstream


@dataclass
class Running:
    """A gateway that is served, and a client of it."""

    gateway: Gateway
    client: httpx.Client
    log: Path
    socket: Path

    def post(self, path, body, **arguments):
        return self.client.post(path, json=body, **arguments)

    def chat(self, content="Hi", **more):
        body = {"model": "solver", "messages": [{"role": "user", "content": content}], **more}
        return self.client.post("/v1/chat/completions", json=body)

    def recorded(self):
        return list(read_recording(self.log))

    @property
    def use(self):
        return self.gateway.use

    @property
    def verdict(self):
        return self.gateway.verdict


@pytest.fixture
def models_file(upstream, tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(
        f'[upstreams.mine]\nurl = "{upstream.url}"\nkey = "MY_KEY"\n'
        '[upstreams.open]\nurl = "http://127.0.0.1:9"\n'
        '[aliases]\nhelper = "mine/small-1"\n'
        '[prices."mine/solver"]\ninput = 10.0\ncached_input = 1.0\noutput = 100.0\n'
        '[prices."mine/small-1"]\ninput = 1.0\noutput = 1.0\n'
    )
    return path


@pytest.fixture
def start(models_file, tmp_path):
    """`with start(...) as running`: plan a gateway, and serve it on its Unix socket."""

    @contextmanager
    def starting(models=(MODEL, "helper"), *, log="gateway.jsonl", replay=None, keep=None, **plan):
        environ = {"MY_KEY": KEY}
        config = plan_gateway(models, models_file, environ=environ, **plan)
        config = replace(config, **{"retry_seconds": 0.02, "quiet_seconds": 5.0, **(keep or {})})
        log = tmp_path / log
        gateway = Gateway(config, log, TOKEN, replay, environ={} if replay else environ)
        path = Path("/tmp") / f"mlebench-gateway-{os.getpid()}-{tmp_path.name[-8:]}-{log.stem[-6:]}.sock"
        transport = httpx.HTTPTransport(uds=str(path))
        with (
            serve(gateway.app, path),
            httpx.Client(
                transport=transport,
                base_url="http://localhost:5100",
                headers={"authorization": f"Bearer {TOKEN}"},
                timeout=60,
            ) as client,
        ):
            yield Running(gateway, client, log, path)
        gateway.close()

    return starting


@pytest.fixture
def tcp():
    """`with tcp(gateway.app) as url`."""
    return serve_tcp


@pytest.fixture
def helpers():
    """Parts of this file that tests use."""

    class Helpers:
        key, token, text = KEY, TOKEN, TEXT
        streams = staticmethod(stream)
        chat_events = staticmethod(chat_events)
        message_events = staticmethod(message_events)
        response_events = staticmethod(response_events)
        generated_events = staticmethod(generated_events)

    return Helpers
