"""An attempt once more, out of its recording: no upstream, no key, the same bytes."""

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import JSONResponse

from mlebench.errors import UsageError
from mlebench.services.gateway import Gateway
from mlebench.services.gateway.dialects import Route
from mlebench.services.gateway.replay import request_key, request_shape

MESSAGES = [{"role": "user", "content": "Hi"}]
CALLS = [
    ("/v1/chat/completions", {"model": "solver", "messages": MESSAGES}),
    ("/v1/chat/completions", {"model": "gw-solver", "messages": MESSAGES, "stream": True}),
    ("/v1/responses", {"model": "solver", "input": "Hi"}),
    ("/v1/responses", {"model": "solver", "input": "Hi", "stream": True}),
    ("/v1/completions", {"model": "solver", "prompt": "Hi"}),
    ("/v1/embeddings", {"model": "helper", "input": "Hi"}),
    ("/v1/messages?beta=true", {"model": "solver", "messages": MESSAGES}),
    ("/v1/messages", {"model": "solver", "messages": MESSAGES, "stream": True}),
    ("/v1/messages/count_tokens", {"model": "solver", "messages": MESSAGES}),
    ("/v1beta/models/solver:generateContent", {"contents": []}),
    ("/v1beta/models/solver:streamGenerateContent?alt=sse", {"contents": []}),
]


def test_everything_is_answered_as_before(start, upstream):
    with start() as running:
        first = [running.post(path, body) for path, body in CALLS]
    calls = len(upstream.seen)
    with start(log="again.jsonl", replay=running.log) as again:
        second = [again.post(path, body) for path, body in reversed(CALLS)][::-1]
    assert len(upstream.seen) == calls
    for before, after in zip(first, second, strict=True):
        assert after.status_code == before.status_code == 200
        assert after.content == before.content
        assert after.headers["content-type"] == before.headers["content-type"]
    assert {entry["replay"] for entry in again.recorded()} == {"exact"}
    assert (again.use.replayed, again.use.replayed_next) == (len(CALLS), 0)
    for name in ("requests", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "dollars"):
        assert getattr(again.use, name) == pytest.approx(getattr(running.use, name))
    with start(log="thrice.jsonl", replay=again.log) as thrice:
        assert thrice.post(*CALLS[0]).content == first[0].content


def test_equal_requests_are_answered_in_their_order(start, upstream):
    counter = itertools.count()
    upstream.script += [lambda *_: JSONResponse({"choices": [], "number": next(counter)})] * 3
    with start() as running:
        for _ in range(3):
            running.chat()
    with start(log="again.jsonl", replay=running.log) as again:
        assert [again.chat().json()["number"] for _ in range(3)] == [0, 1, 2]
    with start(log="thrice.jsonl", replay=running.log) as thrice, ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: thrice.chat().json()["number"], range(3))) == [0, 1, 2]


def test_a_similar_request_gets_the_next_answer_of_its_kind(start, upstream):
    counter = itertools.count()
    upstream.script += [lambda *_: JSONResponse({"choices": [], "number": next(counter)})] * 3
    with start() as running:
        running.chat("3 hours are left")
        running.post("/v1/chat/completions", {"model": "solver", "messages": MESSAGES * 2})
        running.chat("2 hours are left")
    with start(log="again.jsonl", replay=running.log) as again:
        assert again.chat("2.9 hours are left").json()["number"] == 0
        assert again.chat("1.9 hours are left").json()["number"] == 2
    assert [entry["replay"] for entry in again.recorded()] == ["next", "next"]
    assert (again.use.replayed, again.use.replayed_next) == (2, 2)


def test_a_request_that_was_never_made_ends_the_attempt(start, upstream):
    with start() as running:
        running.chat()
    with start(log="again.jsonl", replay=running.log) as again:
        assert again.chat().status_code == 200
        assert again.chat().status_code == 401
        assert again.post("/v1/messages", {"model": "solver", "messages": []}).status_code == 403
    end, reason = again.verdict
    assert end == "gateway-error"
    assert reason == "the replay has no answer to request 2 (openai-chat, solver)"


def test_errors_and_broken_tries_replay_as_what_the_client_got(start, upstream):
    upstream.script += [JSONResponse({}, 503), JSONResponse({"error": {"message": "too long"}}, 400)]
    with start() as running:
        assert running.chat().status_code == 400
    with start(log="again.jsonl", replay=running.log) as again:
        answer = again.chat()
    assert (answer.status_code, answer.json()) == (400, {"error": {"message": "too long"}})
    assert (again.use.lost_seconds, again.use.failed_tries) == (0, 0)


def test_limits_hold_in_a_replay(start, upstream):
    with start() as running:
        for _ in range(3):
            running.chat()
    with start(log="again.jsonl", replay=running.log, max_tokens=200) as again:
        assert [again.chat().status_code for _ in range(3)] == [200, 200, 401]
    assert again.verdict[0] == "budget-spent"


def test_earlier_answers_may_be_named_in_a_replay(start, upstream):
    follow_up = {"model": "solver", "input": "More", "previous_response_id": "resp_1"}
    calls = [*CALLS[2:3], ("/v1/responses", follow_up)]
    with start() as running:
        assert [running.post(*call).status_code for call in calls] == [200, 200]
    with start(log="again.jsonl", replay=running.log) as again:
        assert [again.post(*call).status_code for call in calls] == [200, 200]


def test_a_recording_that_is_none(start, upstream, tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n{}\n")
    with start() as running:
        config = running.gateway.config
        running.chat()
    for path, words in ((tmp_path / "none.jsonl", "can't be read"), (tmp_path / "empty.jsonl", "no recorded")):
        with pytest.raises(UsageError, match=words):
            Gateway(config, tmp_path / "new.jsonl", "token", path)
    with pytest.raises(UsageError, match="at once"):
        Gateway(config, running.log, "token", running.log)


ROUTE = Route("openai-chat", "call")
BASE = {
    "messages": [{"role": "user", "content": "Look into /tmp/run-1a2b/data at 2026-01-02T03:04:05Z"}],
    "tools": [{"type": "function", "function": {"name": "bash"}}],
    "user": "a",
    "prompt_cache_key": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
}
SAME = [
    {"user": "b"},
    {"prompt_cache_key": "x"},
    {"metadata": {"session": "x"}},
    {"messages": [{"content": "Look into /tmp/run-9z/data at 2027-05-06 07:08:09.123", "role": "user"}]},
]
OTHER = [
    {"messages": [{"role": "user", "content": "Look into /home/data at 2026-01-02T03:04:05Z"}]},
    {"temperature": 0.5},
    {"tools": [{"type": "function", "function": {"name": "python"}}]},
]


@pytest.mark.parametrize("change", SAME)
def test_requests_that_count_as_equal(change):
    assert request_key(ROUTE, False, "m", BASE | change) == request_key(ROUTE, False, "m", BASE)


@pytest.mark.parametrize("change", OTHER)
def test_requests_that_do_not(change):
    assert request_key(ROUTE, False, "m", BASE | change) != request_key(ROUTE, False, "m", BASE)


@pytest.mark.parametrize(
    ("change", "similar"),
    [
        ({"messages": [{"role": "user", "content": "Something else"}]}, True),
        ({"temperature": 0.5}, True),
        ({"messages": [{"role": "system", "content": "x"}]}, False),
        ({"messages": BASE["messages"] * 2}, False),
        ({"tools": [{"type": "function", "function": {"name": "python"}}]}, False),
        ({"messages": "odd", "tools": "odd"}, False),
        ({"messages": [None, 3], "tools": [None]}, False),
    ],
)
def test_shapes(change, similar):
    shapes = request_shape(ROUTE, False, "m", BASE | change), request_shape(ROUTE, False, "m", BASE)
    assert (shapes[0] == shapes[1]) is similar
    assert shapes[1] != request_shape(ROUTE, True, "m", BASE)
    assert shapes[1] != request_shape(ROUTE, False, "n", BASE)


def test_what_was_cancelled_is_no_answer(start, upstream):
    import httpx

    async def slow(request, body):
        await asyncio.sleep(3)

    upstream.script.append(slow)
    with start() as running:
        with pytest.raises(httpx.ReadTimeout):
            running.client.post(CALLS[0][0], json=CALLS[0][1], timeout=1)
        assert running.chat().status_code == 200
    with start(log="again.jsonl", replay=running.log) as again:
        assert again.chat().status_code == 200
        assert again.chat().status_code == 401
