"""Calls that go well, in each dialect, over the gateway's true Unix socket; and requests that are none."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from mlebench.services.gateway.requests import Room

CHAT = {"model": "solver", "messages": [{"role": "user", "content": "Hi"}]}
MESSAGE = {"model": "solver", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
GENERATE = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
CALLS = {
    "chat": ("/v1/chat/completions", CHAT),
    "chat stream": ("/v1/chat/completions", CHAT | {"stream": True}),
    "responses": ("/v1/responses", {"model": "solver", "input": "Hi"}),
    "responses stream": ("/v1/responses", {"model": "solver", "input": "Hi", "stream": True}),
    "completions": ("/v1/completions", {"model": "solver", "prompt": "Hi"}),
    "completions stream": ("/v1/completions", {"model": "solver", "prompt": "Hi", "stream": True}),
    "messages": ("/v1/messages?beta=true", MESSAGE),
    "messages stream": ("/v1/messages?beta=true", MESSAGE | {"stream": True}),
    "google": ("/v1beta/models/solver:generateContent", GENERATE),
    "google stream": ("/v1beta/models/solver:streamGenerateContent?alt=sse", GENERATE),
}
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_relayed_and_counted(start, upstream, helpers, name):
    path, body = CALLS[name]
    with start() as running:
        answer = running.post(path, body)
        direct = httpx.post(upstream.url + path, json=body)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == direct.headers["content-type"]
    assert answer.content == direct.content
    seen = upstream.seen[0]
    assert (seen.path, seen.query) == (httpx.URL(path).path, httpx.URL(path).query.decode())
    assert helpers.token not in json.dumps(seen.headers)
    assert [header for header in KEY_HEADERS if helpers.key in seen.headers.get(header, "")]
    use = running.use
    assert (use.requests, use.input_tokens, use.output_tokens, use.usage_unknown) == (1, 100, 20, 0)
    if "completions" not in name:
        assert use.cached_tokens == 40
        assert use.dollars == pytest.approx((60 * 10 + 40 * 1 + 20 * 100) / 1e6) or "messages" in name
    if "messages" not in name and "completions" not in name:
        assert use.reasoning_tokens == 5
    (entry,) = running.recorded()
    assert entry["request"] == body
    assert entry["response"]["body"].encode() == direct.content
    assert (entry["model"], entry["tries"], entry["removed"]) == ("mine/solver", 1, [])
    assert (entry["tokens"]["input"], entry["dollars"]) == (100, use.dollars)
    assert running.verdict is None


def test_embeddings(start):
    with start() as running:
        answer = running.post("/v1/embeddings", {"model": "helper", "input": "Hi"})
    assert answer.json()["data"][0]["embedding"] == [0.5, 0.25]
    assert (running.use.input_tokens, running.use.output_tokens) == (100, 0)


def test_counting_tokens_costs_none(start, upstream):
    with start() as running:
        assert running.post("/v1/messages/count_tokens", MESSAGE).json() == {"input_tokens": 7}
        assert running.post("/v1beta/models/solver:countTokens", GENERATE).json() == {"totalTokens": 7}
        whole = {"generateContentRequest": {"model": "models/gw-helper", **GENERATE}}
        assert running.post("/v1beta/models/gw-helper:countTokens", whole).json() == {"totalTokens": 7}
    assert (running.use.requests, running.use.total_tokens, running.use.usage_unknown) == (3, 0, 0)
    assert upstream.seen[2].body["generateContentRequest"]["model"] == "models/small-1"


def test_a_google_stream_without_events(start, upstream):
    from starlette.responses import JSONResponse

    parts = [{"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}}]
    upstream.script.append(JSONResponse(parts))
    with start() as running:
        answer = running.post("/v1beta/models/solver:streamGenerateContent", GENERATE)
    assert answer.json() == parts
    assert running.use.input_tokens == 3


def test_counts_that_the_client_did_not_ask_for_are_asked_for_and_kept(start, upstream):
    with start() as running:
        silent = running.chat(stream=True)
        asking = running.chat(stream=True, stream_options={"include_usage": True})
    assert [seen.body["stream_options"] for seen in upstream.seen] == [{"include_usage": True}] * 2
    assert "usage" not in silent.text
    assert silent.text.count("data: ") == 3
    assert "prompt_tokens" in asking.text
    assert running.use.input_tokens == 200


def test_an_answer_without_counts_is_not_guessed(start, upstream):
    from starlette.responses import JSONResponse

    upstream.script.append(JSONResponse({"id": "x", "choices": [{"message": {"content": "Hi"}}]}))
    with start() as running:
        assert running.chat().status_code == 200
    assert (running.use.usage_unknown, running.use.total_tokens) == (1, 0)


@pytest.mark.parametrize("name", ["solver", "gw-solver", "mine/solver", "gw-mine/solver"])
def test_names_of_a_model(start, upstream, name):
    with start() as running:
        assert running.post("/v1/chat/completions", CHAT | {"model": name}).status_code == 200
    assert upstream.seen[0].body["model"] == "solver"
    assert running.recorded()[0]["asked"] == name


def test_an_alias(start, upstream):
    with start() as running:
        assert running.post("/v1/chat/completions", CHAT | {"model": "helper"}).status_code == 200
        assert running.post("/v1beta/models/gw-helper:generateContent", GENERATE).status_code == 200
    assert upstream.seen[0].body["model"] == "small-1"
    assert upstream.seen[1].path == "/v1beta/models/small-1:generateContent"
    assert running.use.dollars == pytest.approx(240 / 1e6)


@pytest.mark.parametrize(
    "path",
    [
        "/chat/completions",
        "/v1/v1/chat/completions",
        "/v1/chat/completions/",
        "//v1//chat/completions",
        "/openai/v1/chat/completions",
    ],
)
def test_variants_of_a_path(start, upstream, path):
    with start() as running:
        assert running.post(path, CHAT).status_code == 200
    assert upstream.seen[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("header", [{"x-api-key": "T"}, {"x-goog-api-key": "T"}, {"authorization": "bearer T"}])
def test_ways_to_show_the_token(start, helpers, header):
    with start() as running:
        running.client.headers.pop("authorization")
        right = {name: value.replace("T", helpers.token) for name, value in header.items()}
        assert running.post("/v1/chat/completions", CHAT, headers=right).status_code == 200
        assert running.post(f"/v1beta/models/solver:generateContent?key={helpers.token}", GENERATE).status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/v1/chat/completions", 401), ("/v1/messages", 403)])
def test_a_wrong_token(start, upstream, path, status):
    with start() as running:
        answer = running.post(path, CHAT, headers={"authorization": "Bearer nonsense"})
        without = running.client.build_request("POST", path, json=CHAT)
        del without.headers["authorization"]
        assert running.client.send(without).status_code == status
    assert answer.status_code == status
    assert "token" in answer.json()["error"]["message"]
    assert not upstream.seen
    assert (running.use.requests, running.use.refused) == (0, 2)
    assert "nonsense" not in running.log.read_text()


def test_headers_that_are_passed_on(start, upstream):
    sent = {"anthropic-version": "2023-06-01", "anthropic-beta": "x", "cookie": "c", "openai-organization": "o"}
    with start() as running:
        running.post("/v1/messages", MESSAGE, headers=sent)
    seen = upstream.seen[0].headers
    assert (seen["anthropic-version"], seen["anthropic-beta"]) == ("2023-06-01", "x")
    assert not {"cookie", "openai-organization", "authorization"} & seen.keys()


REFUSED = [
    ("POST", "/v1/chat/completions", {"model": "gpt-4o", "messages": []}, 404, "gpt-4o"),
    ("POST", "/v1/chat/completions", {"messages": []}, 400, "model"),
    ("POST", "/v1/chat/completions", [], 400, "JSON object"),
    ("POST", "/v1beta/models/gemini:generateContent", GENERATE, 404, "gemini"),
    ("POST", "/v1/files", {}, 404, "/v1/files"),
    ("POST", "/v1/responses/resp_1/cancel", {}, 404, "cancel"),
    ("GET", "/v1/responses/resp_1", None, 404, "no path"),
    ("GET", "/v1/chat/completions", None, 405, "GET"),
    ("DELETE", "/v1/models/solver", None, 405, "DELETE"),
    ("POST", "http://example.com/v1/fine_tuning/jobs", {}, 404, "no path"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "words"), REFUSED)
def test_what_is_no_model_call_is_refused_and_recorded(start, upstream, method, path, body, status, words):
    with start() as running:
        answer = running.client.request(method, path, json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]
    assert not upstream.seen
    assert running.use.refused == 1
    (entry,) = running.recorded()
    assert (entry["status"], entry["method"]) == (status, method)
    assert words in entry["refused"]


def test_errors_have_the_form_of_the_dialect(start):
    with start() as running:
        chat = running.post("/v1/chat/completions", CHAT | {"model": "x"}).json()
        message = running.post("/v1/messages", MESSAGE | {"model": "x"}).json()
        google = running.post("/v1beta/models/x:generateContent", GENERATE).json()
    assert (chat["error"]["type"], chat["error"]["code"]) == ("not_found_error", "model_not_found")
    assert (message["type"], message["error"]["type"]) == ("error", "not_found_error")
    assert (google["error"]["code"], google["error"]["status"]) == (404, "NOT_FOUND")


def test_a_dialect_that_the_upstream_does_not_speak(start, upstream, models_file):
    models_file.write_text(
        models_file.read_text().replace('key = "MY_KEY"', 'key = "MY_KEY"\ndialects = ["openai-chat"]')
    )
    with start() as running:
        answer = running.post("/v1/messages", MESSAGE)
        assert running.chat().status_code == 200
    assert answer.status_code == 404
    assert "only in: openai-chat" in answer.json()["error"]["message"]


def test_models_are_listed_by_the_gateway_itself(start, upstream):
    with start() as running:
        assert [each["id"] for each in running.client.get("/v1/models").json()["data"]] == ["solver", "helper"]
        assert running.client.get("/v1/models/helper").json()["id"] == "helper"
        assert running.client.get("/v1/models/gpt-4o").status_code == 404
        google = running.client.get("/v1beta/models").json()
        assert [each["name"] for each in google["models"]] == ["models/solver", "models/helper"]
        listed = running.client.get("/v1/models", headers={"anthropic-version": "2023-06-01"}).json()
        assert (listed["data"][0]["type"], listed["has_more"]) == ("model", False)
        assert running.client.get("/v1/models", headers={"authorization": "x"}).status_code == 401
        assert running.client.head("/v1/models").status_code == 200
    assert not upstream.seen


def test_health_needs_no_token(start):
    with start() as running:
        assert running.client.get("/health", headers={"authorization": ""}).json() == {"status": "running"}


def test_an_upgrade_is_refused_at_once(start):
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x", "sec-websocket-version": "13"}
    with start() as running:
        answer = running.client.get("/v1/responses", headers=headers)
    assert answer.status_code == 426
    assert "WebSocket" in answer.json()["error"]["message"]
    assert running.recorded()[0]["status"] == 426


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b'{"model": NaN}',
        b'{"model": "solver", "temperature": Infinity}',
        b'{"a": ' + b"[" * 100_000,
        b'{"model": "solver", "messages": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"model": 1' + b"0" * 5000 + b"}",
        b"\xef\xbb\xbf[]",
        "[1]".encode("utf-16"),
    ],
    ids=range(10),
)
def test_odd_bodies(start, upstream, raw):
    with start() as running:
        answer = running.client.post("/v1/chat/completions", content=raw)
        assert answer.status_code == 400
        assert running.chat().status_code == 200
    assert len(upstream.seen) == 1


def test_requests_of_many_parts_are_refused_before_they_are_read(start, upstream):
    with start() as running:
        raw = b'{"model": "solver", "messages": [' + b"[]," * 600_000 + b"[]]}"
        assert running.client.post("/v1/chat/completions", content=raw).status_code == 413
    assert not upstream.seen


def test_room_is_given_when_there_is_enough():
    most = used = 0

    async def take(room, size):
        nonlocal most, used
        async with room.taken(size):
            used += size
            most = max(most, used)
            await asyncio.sleep(0.01)
            used -= size

    async def all_at_once():
        room = Room(10)
        await asyncio.gather(*(take(room, size) for size in (4, 10, 4, 7, 3, 1, 10)))

    asyncio.run(all_at_once())
    assert (most, used) == (10, 0)


@pytest.mark.slow
def test_large_requests_at_once_wait_for_room(start, upstream):
    """Together they are larger than what is read at a time; none is refused."""
    body = {"model": "solver", "messages": [{"role": "user", "content": "x" * (20 << 20)}]}
    with start() as running, ThreadPoolExecutor(5) as pool:
        states = [each.status_code for each in pool.map(lambda _: running.post("/v1/embeddings", body), range(5))]
    assert states == [200] * 5


def test_the_upstream_sees_what_was_judged(start, upstream):
    raw = b'{"model": "gpt-4o", "model": "solver", "messages": [{"role": "user", "content": "\\ud800 \xc3\xb6"}]}'
    with start() as running:
        assert running.client.post("/v1/chat/completions", content=raw).status_code == 200
    assert upstream.seen[0].body["model"] == "solver"
    assert upstream.seen[0].body["messages"][0]["content"] == "\ud800 ö"
    assert running.recorded()[0]["request"]["messages"][0]["content"] == "\ud800 ö"


def test_large_and_compressed_requests(start, upstream):
    with start() as running:
        assert running.chat("x" * (5 << 20)).status_code == 200
        blocks = (b" " * (1 << 20) for _ in range(65))
        assert running.client.post("/v1/chat/completions", content=blocks).status_code == 413
        headers = {"content-encoding": "gzip"}
        assert running.client.post("/v1/chat/completions", content=b"x", headers=headers).status_code == 415
        assert running.chat().status_code == 200
    assert len(upstream.seen) == 2


def test_an_error_of_the_agent_is_relayed_as_it_is(start, upstream):
    from starlette.responses import JSONResponse

    error = {"error": {"message": "messages is too long", "type": "invalid_request_error", "param": "messages"}}
    upstream.script.append(JSONResponse(error, 400))
    with start() as running:
        answer = running.chat()
    assert (answer.status_code, answer.json()) == (400, error)
    assert (running.use.requests, running.use.usage_unknown, running.verdict) == (1, 0, None)
    assert running.recorded()[0]["status"] == 400


def test_parameters_that_a_model_does_not_know(start, upstream):
    from starlette.responses import JSONResponse

    def unknown(parameter, code):
        return JSONResponse({"error": {"message": "no", "param": parameter, "code": code}}, 400)

    upstream.script += [unknown("temperature", "unsupported_value"), unknown("max_tokens", "unsupported_parameter")]
    with start() as running:
        assert running.chat(temperature=0.5, max_tokens=9).status_code == 200
    assert [seen.body.get("temperature") for seen in upstream.seen] == [0.5, None, None]
    assert upstream.seen[2].body["max_completion_tokens"] == 9
    (entry,) = running.recorded()
    assert entry["adapted"] == ["temperature removed", "max_tokens became max_completion_tokens"]
    assert entry["request"]["temperature"] == 0.5
