"""The gateway before the scripted model: its faults, its counts, and an agent in a true sandbox between the two."""

import json
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mlebench.sandbox import Limits, find_sandbox
from mlebench.sandbox.checks import make_world
from mlebench.sandbox.inside import GATEWAY_PORT
from mlebench.services.gateway import Gateway, plan_gateway, read_recording
from mlebench.services.serving import serve
from mlebench.testing import Fault, Reply
from mlebench.testing import serve as serve_script

TOKEN = "token-of-the-attempt"
KEY = "key-of-the-scripted-server"
MESSAGES = [{"role": "user", "content": "Three short words"}]
CALLS = {
    "chat": ("/v1/chat/completions", {"messages": MESSAGES}),
    "responses": ("/v1/responses", {"input": "Three short words"}),
    "completions": ("/v1/completions", {"prompt": "Three short words"}),
    "messages": ("/v1/messages", {"messages": MESSAGES, "max_tokens": 99}),
    "google": ("/v1beta/models/{model}:generateContent", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
}
STREAMS = {name: (path, body | {"stream": True}) for name, (path, body) in CALLS.items() if name != "google"}
STREAMS["google"] = ("/v1beta/models/{model}:streamGenerateContent?alt=sse", CALLS["google"][1])
FAULTS = {
    "rate limit": Fault.rate_limit(retry_after=0),
    "overloaded": Fault.overloaded(),
    "500": Fault.error(500),
    "dropped": Fault.disconnect(),
    "broken": Fault.broken_stream(after=1),
    "no JSON": Fault.wrong_json(),
    "silent": Fault.hang(),
}


@pytest.fixture
def before(tmp_path):
    """`with before(script) as (gateway, client, server, socket)`."""

    @contextmanager
    def starting(script, faults=None, **keep):
        with serve_script(script, faults=faults or {}, key=KEY) as server:
            models = tmp_path / "models.toml"
            models.write_text(f'[upstreams.scripted]\nurl = "{server.url}"\nkey = "SCRIPTED_KEY"\n')
            environ = {"SCRIPTED_KEY": KEY}
            config = plan_gateway(["scripted/solver"], models, environ=environ)
            config = replace(config, retry_seconds=0.02, **{"timeout_seconds": 2.0, **keep})
            gateway = Gateway(config, tmp_path / "gateway.jsonl", TOKEN, environ=environ)
            socket = Path("/tmp") / f"mlebench-scripted-{os.getpid()}-{tmp_path.name[-8:]}.sock"
            transport = httpx.HTTPTransport(uds=str(socket))
            headers = {"x-api-key": TOKEN}
            with (
                serve(gateway.app, socket),
                httpx.Client(transport=transport, base_url="http://localhost", headers=headers, timeout=60) as client,
            ):
                yield gateway, client, server, socket
            gateway.close()

    return starting


def ask(client, calls, name):
    path, body = calls[name]
    return client.post(path.format(model="solver"), json={"model": "solver", **body})


def counts(use):
    return (use.input_tokens, use.cached_tokens, use.output_tokens, use.reasoning_tokens)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_all_kinds_are_waited_out(before, fault):
    """Every dialect, streaming and not; afterwards the counts are the script's."""
    calls = [(calls, name) for name in CALLS for calls in (CALLS, STREAMS)]
    faults = dict.fromkeys(range(1, 2 * len(calls), 2), FAULTS[fault])
    timeout = 0.2 if fault == "silent" else 20.0
    with before(lambda _: "Fine words.", faults, timeout_seconds=timeout) as (gateway, client, server, _):
        answers = [ask(client, *call) for call in calls]
    assert [answer.status_code for answer in answers] == [200] * len(calls)
    assert all("Fine" in answer.text and "words." in answer.text for answer in answers)
    assert gateway.use.failed_tries == len(calls)
    assert counts(gateway.use) == counts(server.total)
    assert gateway.use.usage_unknown == 0
    assert gateway.verdict is None


def test_a_slow_stream_is_not_taken_for_a_broken_one(before):
    with before(["Many words that come slowly."], {1: Fault.drip(seconds=0.2)}, quiet_seconds=0.1) as parts:
        gateway, client, _, _ = parts
        answer = ask(client, STREAMS, "messages")
    assert b"event: ping" in answer.content
    assert b"slowly" in answer.content
    assert gateway.use.failed_tries == 0


def test_answers_of_all_kinds(before, tmp_path):
    script = [Reply.call("bash", {"command": "ls"}), Reply.huge(1_000_000), "Words."]
    with before(script * 2 * len(CALLS)) as (gateway, client, server, _):
        for name in CALLS:
            for calls in (CALLS, STREAMS):
                for _ in script:
                    assert ask(client, calls, name).status_code == 200
    assert gateway.use.requests == len(server.requests) == 6 * len(CALLS)
    assert counts(gateway.use) == counts(server.total)
    assert max(len(entry["response"]["body"]) for entry in read_recording(tmp_path / "gateway.jsonl")) > 1_000_000


def test_a_wrong_key_ends_the_attempt(before):
    with before(["Never."], {number: Fault.unauthorized() for number in range(1, 6)}) as (gateway, client, _, _):
        assert ask(client, CALLS, "messages").status_code == 403
    assert gateway.verdict is not None
    assert "SCRIPTED_KEY" in gateway.verdict[1]


AGENT = """
import json, os, urllib.error, urllib.request

def post(path, body, key):
    request = urllib.request.Request(os.environ["MODEL_URL"] + path, json.dumps(body).encode())
    request.add_header("authorization", "Bearer " + key)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

body = {"model": "solver", "messages": [{"role": "user", "content": "Hi"}]}
key = os.environ["OPENAI_API_KEY"]
print(post("/v1/chat/completions", body, key)[1]["choices"][0]["message"]["content"])
print(post("/v1/chat/completions", body, "sk-guessed")[0])
print(post("/v1/files", body, key)[0])
print(post("/v1/chat/completions", body | {"tools": [{"type": "web_search"}]}, key)[0])
print("scripted-server" in str(dict(os.environ)))
"""


@pytest.mark.parametrize("name", ["bubblewrap", "none"])
def test_an_agent_in_a_sandbox(before, name, tmp_path):
    sandbox = find_sandbox(name)
    if reason := sandbox.unavailable():
        pytest.skip(reason)
    with before(["Hello from outside.", "Again."]) as (gateway, _, server, socket):
        world = make_world(tmp_path / "world", AGENT)
        world = replace(
            world,
            sockets={GATEWAY_PORT: socket},
            environment={"MODEL_URL": f"http://localhost:{GATEWAY_PORT}", "OPENAI_API_KEY": TOKEN},
        )
        output = tmp_path / "output.txt"
        sandbox.run(world, ["python3", "/home/agent/main.py"], Limits(60), output)
    assert output.read_text().splitlines() == ["Hello from outside.", "401", "404", "200", "False"]
    assert (gateway.use.requests, gateway.use.refused) == (2, 2)
    assert gateway.use.removed_tools == {"web_search": 1}
    assert counts(gateway.use) == counts(server.total)
    assert KEY not in json.dumps(list(read_recording(tmp_path / "gateway.jsonl")))
