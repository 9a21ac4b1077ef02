"""Upstreams that fail: what is waited out, what ends the attempt, what a client hears meanwhile."""

import asyncio
import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mlebench.services.gateway import Gateway, plan_gateway
from mlebench.services.gateway.answers import Answer, retry_after

MESSAGES = [{"role": "user", "content": "Hi"}]
PATHS = {
    "openai-chat": ("/v1/chat/completions", {"model": "solver", "messages": MESSAGES, "stream": True}),
    "openai-responses": ("/v1/responses", {"model": "solver", "input": "Hi", "stream": True}),
    "anthropic": ("/v1/messages", {"model": "solver", "messages": MESSAGES, "stream": True}),
    "google": ("/v1beta/models/solver:streamGenerateContent?alt=sse", {"contents": []}),
}
EVENTS = {
    "openai-chat": "chat_events",
    "openai-responses": "response_events",
    "anthropic": "message_events",
    "google": "generated_events",
}
TRIALS = len(PATHS)  # plain questions, before a failure ends the attempt
TRANSIENT = {
    "429": Response("slow down", 429, {"retry-after": "0"}),
    "429 in milliseconds": Response("slow down", 429, {"retry-after-ms": "10"}),
    "408": Response("", 408),
    "409": Response("", 409),
    "500": Response("oops", 500),
    "503": JSONResponse({"error": {"message": "loading"}}, 503),
    "529": JSONResponse({"type": "error", "error": {"type": "overloaded_error"}}, 529),
    "no JSON": Response("<html>", 200),
    "empty": Response(b"", 200),
    "half of it": Response('{"choices": [', 200, media_type="application/json"),
    "error with status 200": JSONResponse({"error": {"code": 502, "message": "provider down"}}),
    "shorter than announced": Response("{}", 200, {"content-length": "500"}),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_transient_errors_are_waited_out(start, upstream, helpers, fault):
    upstream.script += [TRANSIENT[fault]] * 2
    with start() as running:
        answer = running.chat()
    assert answer.json()["choices"][0]["message"]["content"] == helpers.text
    assert len(upstream.seen) == 3
    (entry,) = running.recorded()
    assert (entry["tries"], len(entry["faults"]), entry["status"]) == (3, 2, 200)
    assert entry["lost_seconds"] > 0
    use = running.use
    assert (use.requests, use.failed_tries, use.input_tokens) == (1, 2, 100)
    assert use.lost_seconds == pytest.approx(entry["lost_seconds"], abs=0.01)
    assert running.verdict is None


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("broken_after", [0, 1, 2])
def test_a_stream_that_breaks_is_repaired(start, upstream, helpers, dialect, broken_after):
    path, body = PATHS[dialect]
    events = getattr(helpers, EVENTS[dialect])
    broken = min(broken_after, 1) if dialect == "google" else broken_after
    upstream.script.append(lambda *_: helpers.streams(events({"model": "solver"}), broken))
    with start() as running:
        answer = running.post(path, body)
        whole = httpx.post(upstream.url + path, json=body | {"stream_options": {}})
    assert answer.content == whole.content
    assert running.use.failed_tries == 1
    assert (running.use.input_tokens, running.use.output_tokens) == (100, 20)


@pytest.mark.parametrize("dialect", PATHS)
def test_a_stream_that_stops_without_its_end_is_repaired(start, upstream, helpers, dialect):
    path, body = PATHS[dialect]
    events = list(getattr(helpers, EVENTS[dialect])({"model": "solver"}))
    kept = [each for each in events[:-1] if '"finish_reason": "stop"' not in json.dumps(each)]
    upstream.script.append(lambda *_: helpers.streams(kept))
    with start() as running:
        assert running.post(path, body).status_code == 200
    assert running.use.failed_tries == 1


@pytest.mark.parametrize(
    ("dialect", "error"),
    [
        ("openai-chat", {"error": {"message": "overloaded", "type": "server_error", "code": None}}),
        ("openai-chat", {"error": {"message": "provider", "code": 502}}),
        ("openai-responses", {"type": "response.failed", "response": {"error": {"code": "server_error"}}}),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ("google", {"error": {"code": 503, "status": "UNAVAILABLE"}}),
    ],
)
def test_an_error_within_a_stream_is_repaired(start, upstream, helpers, dialect, error):
    path, body = PATHS[dialect]
    first = next(iter(getattr(helpers, EVENTS[dialect])({"model": "solver"})))
    upstream.script.append(lambda *_: helpers.streams([first, error]))
    with start() as running:
        answer = running.post(path, body)
    assert "error" not in answer.text.replace('"error": null', "")
    assert running.use.failed_tries == 1


def test_an_error_of_the_agent_within_a_stream_is_relayed(start, upstream, helpers):
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    upstream.script.append(lambda *_: helpers.streams([error]))
    with start() as running:
        answer = running.post(*PATHS["anthropic"])
    assert "too long" in answer.text
    assert running.use.failed_tries == 0


def test_an_upstream_that_is_not_there_yet(start, models_file, tmp_path):
    """Connections are refused; patience ends, and that is nobody's fault inside."""
    with start(["open/solver"], keep={"patience_seconds": 0.3}) as running:
        answer = running.chat()
        again = running.chat()
    assert (answer.status_code, again.status_code) == (401, 401)
    end, reason = running.verdict
    assert end == "gateway-error"
    assert "upstream open" in reason
    assert "ConnectError" in reason
    assert 0.1 < running.use.lost_seconds <= 5
    assert running.recorded()[0]["tries"] > 1
    assert running.recorded()[0]["error"] == reason


@pytest.mark.parametrize(("dialect", "status"), [("openai-chat", 401), ("anthropic", 403), ("google", 403)])
def test_a_wait_longer_than_patience_is_not_begun(start, upstream, dialect, status):
    upstream.script += [Response("", 429, {"retry-after": "5000"})] * (1 + TRIALS)
    path, body = PATHS[dialect]
    with start() as running:
        started = time.monotonic()
        answer = running.post(path, body)
        assert time.monotonic() - started < 30
    assert answer.status_code == status
    assert running.verdict[0] == "gateway-error"
    assert len(upstream.seen) == 1 + TRIALS


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, b"", None),
        ({"retry-after": "7"}, b"", 7),
        ({"retry-after": "7", "retry-after-ms": "1500"}, b"", 1.5),
        ({"retry-after": "-3"}, b"", 0),
        ({"retry-after": "Sat, 21 Nov 2026 12:01:00 GMT"}, b"", 60),
        ({"retry-after": "Sat, 21 Nov 2020 12:01:00 GMT"}, b"", 0),
        ({"retry-after": "soon"}, b"", None),
        ({"retry-after": "inf"}, b"", None),
        ({}, b'{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "17.5s"}]}}', 17.5),
    ],
)
def test_how_long_an_upstream_wants_to_be_left_alone(headers, body, seconds):
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert retry_after(Answer(429, headers, body), now) == seconds


def test_a_call_that_waits_ends_with_the_attempt(start, upstream):
    """Another call was told that the key is refused; to wait on would be of no use."""
    upstream.script += [Response("", 429, {"retry-after": "20"}), *[Response("", 401)] * (1 + TRIALS)]
    with start() as running, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(running.chat)
        while not upstream.seen:
            time.sleep(0.01)
        assert running.chat().status_code == 401
        assert waiting.result().status_code == 401
    assert len(upstream.seen) == 2 + TRIALS
    assert [entry["tries"] for entry in running.recorded()] == [1, 1]


FATAL = {
    "key": (JSONResponse({"error": {"message": "Incorrect API key provided: {key}"}}, 401), "MY_KEY"),
    "forbidden": (Response("no {key}", 403), "MY_KEY"),
    "credit": (JSONResponse({"error": {"code": "insufficient_quota"}}, 429), "insufficient_quota"),
    "payment": (JSONResponse({"error": {"message": "pay"}}, 402), "402"),
    "anthropic's credit": (JSONResponse({"error": {"message": "Your credit balance is too low"}}, 400), "credit"),
    "google's key": (JSONResponse({"error": {"message": "API key not valid"}}, 400), "API key"),
    "model": (JSONResponse({"error": {"code": "model_not_found"}}, 404), "model_not_found"),
    "elsewhere": (Response("", 302, {"location": "https://example.com"}), "url"),
}


@pytest.mark.parametrize("case", FATAL)
def test_what_no_patience_can_repair_ends_the_attempt(start, upstream, helpers, case):
    answer, word = FATAL[case]
    body = answer.body.replace(b"{key}", helpers.key.encode())
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    upstream.script += [Response(body, answer.status_code, headers)] * (1 + TRIALS)
    with start() as running:
        told = running.chat()
    assert told.status_code == 401
    assert "the way to the model failed" in told.json()["error"]["message"]
    end, reason = running.verdict
    assert end == "gateway-error"
    assert word in reason
    assert helpers.key not in reason + told.text + running.log.read_text()
    assert len(upstream.seen) == 1 + TRIALS


PROVOKED = {
    "a model that can't complete": JSONResponse({"error": {"message": "This is a chat model"}}, 404),
    "a model that can't embed": JSONResponse({"error": {"message": "You are not allowed to embed"}}, 403),
    "an echo": JSONResponse({"error": {"message": "Invalid value: 'insufficient_quota'"}}, 400),
    "a header": JSONResponse({"error": {"message": "no such beta"}}, 401),
    "a crash": Response("", 500),
    "no JSON": Response("<html>"),
}


@pytest.mark.parametrize("case", PROVOKED)
@pytest.mark.parametrize("dialect", PATHS)
def test_no_request_ends_an_attempt_whose_model_answers_others(start, upstream, case, dialect):
    """Else an agent could turn a bad attempt into one that doesn't count."""

    def of_the_agent(_, body):
        return None if "Say OK." in json.dumps(body) else PROVOKED[case]

    upstream.script += [of_the_agent] * 100
    path, body = PATHS[dialect]
    with start(keep={"patience_seconds": 0.1}) as running:
        answers = [running.post(path, body) for _ in range(2)]
        upstream.script.clear()
        assert running.post(path, body).status_code == 200
        assert running.verdict is None
    assert [answer.status_code for answer in answers] == [400, 400]
    assert "answers other requests" in answers[0].text
    assert "MY_KEY" not in answers[0].text
    assert sum("Say OK." in json.dumps(seen.body) for seen in upstream.seen) == 1
    assert running.use.input_tokens == 200  # the question that tells who is to blame is paid for, too


def test_only_what_the_agent_speaks_is_tried(start, upstream):
    """Where that fails, the attempt ends, although the model answers in another dialect."""

    def of_chat_alone(request, _):
        return None if request.url.path == "/v1/chat/completions" else Response("", 404)

    upstream.script += [of_chat_alone] * 10
    with start(keep={"spoken": ("anthropic",)}) as running:
        assert running.post(*PATHS["anthropic"]).status_code == 403
    assert running.verdict[0] == "gateway-error"
    with start(log="b.jsonl", keep={"spoken": ("openai-chat",)}) as running:
        assert running.post(*PATHS["anthropic"]).status_code == 400
    assert running.verdict is None


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return {"ssl_certfile": str(folder / "cert.pem"), "ssl_keyfile": str(folder / "key.pem")}


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
@pytest.mark.parametrize("trusted", [True, False])
def test_an_upstream_with_a_certificate(start, tcp, upstream, models_file, monkeypatch, certificate, trusted):
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", certificate["ssl_certfile"])
    app = Starlette(routes=[Route("/{path:path}", upstream.__call__, methods=["POST"])])
    with tcp(app, **certificate) as url:
        models_file.write_text(models_file.read_text().replace(upstream.url, url))
        with start() as running:
            answer = running.chat()
    assert answer.status_code == (200 if trusted else 401)
    assert trusted or "its certificate isn't trusted" in running.verdict[1]


def test_moderation_is_no_matter_of_keys(start, upstream):
    error = {"error": {"code": 403, "metadata": {"flagged_input": "x"}}}
    upstream.script.append(JSONResponse(error, 403))
    with start() as running:
        assert running.chat().status_code == 403
    assert running.verdict is None


def test_a_key_in_an_answer_does_not_get_in(start, upstream, helpers):
    upstream.script.append(JSONResponse({"error": {"message": f"bad request with {helpers.key}"}}, 400))
    with start() as running:
        answer = running.chat()
    assert answer.json()["error"]["message"] == "bad request with <key>"
    assert helpers.key not in running.log.read_text()


@pytest.mark.parametrize(
    ("dialect", "sign"),
    [
        ("openai-chat", b": waiting\n\n"),
        ("openai-responses", b": waiting\n\n"),
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
        ("google", b"\n"),
    ],
)
def test_a_client_that_waits_for_a_stream_hears_something(start, upstream, dialect, sign):
    path, body = PATHS[dialect]
    upstream.script += [Response("", 503)] * 3
    with start(keep={"quiet_seconds": 0.05, "retry_seconds": 0.1}) as running:
        answer = running.post(path, body)
        whole = httpx.post(upstream.url + path, json=body)
    assert answer.content.startswith(sign * 2)
    assert answer.content.endswith(whole.content)
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_client_that_waits_for_a_document_hears_something(start, upstream, helpers):
    upstream.script += [Response("", 503)] * 3
    with start(keep={"quiet_seconds": 0.02, "retry_seconds": 0.1}) as running:
        answer = running.chat()
    assert answer.content.startswith(b"\n")
    assert answer.json()["choices"][0]["message"]["content"] == helpers.text


def test_an_error_after_the_client_heard_something(start, upstream):
    """It is too late for a status: a stream has its own form of an error, a document breaks off."""
    refusal = JSONResponse({"error": {"message": "too long", "code": "x"}}, 400)
    upstream.script += [Response("", 503), Response("", 503), refusal] * 2
    with start(keep={"quiet_seconds": 0.02, "retry_seconds": 0.2}) as running:
        stream = running.chat(stream=True)
        with pytest.raises(httpx.RemoteProtocolError):
            running.chat()
    assert stream.text.endswith('data: {"error": {"message": "too long", "code": "x"}}\n\n')
    assert [entry["status"] for entry in running.recorded()] == [400, 400]


def test_a_client_that_goes_away_cancels_the_call(start, upstream):
    arrived, cancelled = threading.Event(), threading.Event()

    async def forever(request, body):
        arrived.set()
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        cancelled.set()
        return Response("late")

    upstream.script.append(forever)
    with start() as running:
        with pytest.raises(httpx.ReadTimeout):
            running.client.post(PATHS["openai-chat"][0], json=PATHS["openai-chat"][1], timeout=1)
        assert arrived.is_set()
        assert cancelled.wait(20)
        assert running.chat().status_code == 200
    first = running.recorded()[0]
    assert (first["status"], first["error"]) == (None, "the client went away")
    assert (running.use.requests, running.use.usage_unknown) == (2, 1)


def test_what_a_cancelled_stream_had_told_is_counted(start, upstream, helpers):
    async def hanging():
        for event in list(helpers.message_events({"model": "solver"}))[:2]:
            yield f"data: {json.dumps(event)}\n\n"
        await asyncio.sleep(3)

    from starlette.responses import StreamingResponse

    upstream.script.append(lambda *_: StreamingResponse(hanging(), media_type="text/event-stream"))
    path, body = PATHS["anthropic"]
    with start() as running, pytest.raises(httpx.ReadTimeout):
        running.client.post(path, json=body, timeout=1)
    assert (running.use.input_tokens, running.use.usage_unknown) == (100, 0)
    assert running.recorded()[0]["tokens"]["input"] == 100


def test_calls_beyond_the_limit_wait(start, upstream):
    running_now, most = 0, 0

    async def slow(request, body):
        nonlocal running_now, most
        running_now += 1
        most = max(most, running_now)
        await asyncio.sleep(0.1)
        running_now -= 1

    upstream.script += [slow] * 8
    with start(max_concurrent=2) as running, ThreadPoolExecutor(8) as pool:
        assert [each.status_code for each in pool.map(lambda _: running.chat(), range(8))] == [200] * 8
    assert most == 2
    assert running.use.requests == 8


def test_time_lost_by_calls_at_once_counts_once(start, upstream):
    upstream.script += [Response("", 429, {"retry-after": "1"})] * 4
    with start() as running, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: running.chat(), range(4)))
    lost = [entry["lost_seconds"] for entry in running.recorded()]
    assert min(lost) >= 1
    assert running.use.lost_seconds < sum(lost) - 1


@pytest.mark.parametrize("count", [b"1e999", b"-5", b'"many"', b"true", b"[]"])
def test_odd_counts(start, upstream, count):
    upstream.script.append(Response(b'{"choices": [], "usage": {"prompt_tokens": ' + count + b"}}"))
    with start() as running:
        assert running.chat().status_code == 200
        assert running.chat().status_code == 200
    assert running.use.input_tokens == 100


def test_a_recording_that_cannot_be_written_ends_the_attempt(start, tmp_path):
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    with start(log="full.jsonl") as running:
        assert running.chat().status_code == 500
        assert running.chat().status_code == 401
    assert running.verdict[0] == "gateway-error"
    assert "recording" in running.verdict[1]


def test_a_key_that_is_not_set_when_the_attempt_starts(models_file, tmp_path):
    from mlebench.errors import UsageError

    config = plan_gateway(["mine/solver"], models_file, environ={"MY_KEY": "x"})
    with pytest.raises(UsageError, match="MY_KEY"):
        Gateway(replace(config), tmp_path / "gateway.jsonl", "token", environ={})
