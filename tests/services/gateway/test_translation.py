"""Models by the library litellm: with its own stand-in for an answer, and before a true server of another dialect."""

import json

import pytest

pytest.importorskip("litellm", reason="the extra litellm is not installed")

MESSAGES = [{"role": "user", "content": "Hi"}]
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the library's own
]


@pytest.fixture
def translated(models_file, upstream):
    models_file.write_text(
        models_file.read_text()
        + '[upstreams.scripted]\nlibrary = "litellm"\noptions = { mock_response = "Hello, scripted" }\n'
        + f'[upstreams.foreign]\nlibrary = "litellm"\nurl = "{upstream.url}"\nkey = "MY_KEY"\n'
        + '[upstreams.failing]\nlibrary = "litellm"\noptions = { mock_response = "litellm.RateLimitError" }\n'
        + '[prices."scripted/gpt-4o"]\ninput = 1.0\noutput = 1.0\n'
    )


def test_an_answer(start, translated):
    with start(["scripted/gpt-4o"]) as running:
        body = {"model": "gpt-4o", "messages": MESSAGES, "mock_response": "chosen by the agent"}
        plain = running.post("/v1/chat/completions", body)
        stream = running.post("/v1/chat/completions", body | {"stream": True})
        assert running.post("/v1/messages", body).status_code == 404
    assert plain.json()["choices"][0]["message"]["content"] == "Hello, scripted"
    assert stream.text.endswith("data: [DONE]\n\n")
    chunks = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: {")]
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == "Hello, scripted"
    assert running.use.requests == 2
    assert running.use.output_tokens > 0
    assert running.use.dollars > 0


def test_a_server_of_another_dialect(start, upstream, helpers, translated):
    with start(["foreign/anthropic/solver"]) as running:
        body = {"model": "anthropic/solver", "messages": MESSAGES, "api_base": "http://elsewhere", "api_key": "x"}
        plain = running.post("/v1/chat/completions", body)
        stream = running.post("/v1/chat/completions", body | {"stream": True})
    assert plain.json()["choices"][0]["message"]["content"] == helpers.text
    assert (plain.status_code, stream.status_code) == (200, 200)
    assert [seen.path for seen in upstream.seen] == ["/v1/messages"] * 2
    assert upstream.seen[0].headers["x-api-key"] == helpers.key
    assert (running.use.input_tokens, running.use.output_tokens) == (200, 40)
    assert running.use.cached_tokens == 80


def test_errors_are_waited_out_or_relayed(start, upstream, helpers, translated):
    from starlette.responses import JSONResponse

    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    upstream.script += [JSONResponse({"type": "error", "error": {"type": "overloaded_error"}}, 529)]
    upstream.script += [None, JSONResponse(refusal, 400)]
    with start(["foreign/anthropic/solver"]) as running:
        assert (
            running.post("/v1/chat/completions", {"model": "anthropic/solver", "messages": MESSAGES}).status_code == 200
        )
        relayed = running.post("/v1/chat/completions", {"model": "anthropic/solver", "messages": MESSAGES})
    assert relayed.status_code == 400
    assert "too long" in relayed.text
    assert running.use.failed_tries == 1


def test_patience_ends(start, translated):
    with start(["failing/gpt-4o"], keep={"patience_seconds": 0.2}) as running:
        assert running.chat().status_code == 404
        assert running.post("/v1/chat/completions", {"model": "gpt-4o", "messages": MESSAGES}).status_code == 401
    assert running.verdict[0] == "gateway-error"
