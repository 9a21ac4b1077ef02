"""What is left on disk: whole, readable after a kill, and without a key."""

import json
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from mlebench.services.gateway import app, read_recording
from mlebench.services.gateway.recording import Recorder, body_fields, recorded_body

WRITER = """
import sys
from pathlib import Path
from mlebench.services.gateway.recording import Recorder
recorder = Recorder(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    recorder.write({"number": number, "text": "x" * 100_000})
    number += 1
"""


def test_a_killed_writer_leaves_whole_lines(tmp_path):
    log = tmp_path / "gateway.jsonl"
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(log)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            before = log.stat().st_size
            while log.stat().st_size < before + 2_000_000:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
    entries = list(read_recording(log))
    assert len(entries) >= log.read_bytes().count(b"\n") - 3
    assert all(len(entry["text"]) == 100_000 for entry in entries)


def test_a_line_that_broke_off_is_skipped_and_ended(tmp_path):
    log = tmp_path / "gateway.jsonl"
    log.write_bytes(b'{"number": 1}\n{"number": 2, "te')
    assert [entry["number"] for entry in read_recording(log)] == [1]
    recorder = Recorder(log)
    recorder.write({"number": 3})
    recorder.close()
    recorder.close()
    assert [entry["number"] for entry in read_recording(log)] == [1, 3]
    assert log.read_bytes().endswith(b'"te\n{"number":3}\n')


@pytest.mark.parametrize("body", [b"", "wörld".encode(), b"\xff\x00", b"a\r\n\n"])
def test_bodies_are_kept_byte_for_byte(body):
    assert recorded_body(json.loads(json.dumps(body_fields(body)))) == body


def test_no_key_in_the_recording_or_in_what_clients_get(start, upstream, helpers):
    """The upstream shows the key wherever it can."""
    shown = f"the key is {helpers.key}, {helpers.key}"
    upstream.script += [
        JSONResponse({"choices": [{"message": {"content": shown}}], "usage": {"prompt_tokens": 1}}),
        lambda *_: helpers.streams([{"choices": [{"delta": {"content": shown}, "finish_reason": "stop"}]}]),
        Response(shown, 503),
        JSONResponse({"error": {"message": shown}}, 422),
        Response(shown, 500),
        *[JSONResponse({"error": {"message": shown}}, 401, {"x-key": helpers.key})] * 5,
    ]
    with start() as running:
        answers = [running.chat(), running.chat(stream=True), running.chat(), running.chat(), running.chat()]
    heard = b"".join(answer.content + str(answer.headers).encode() for answer in answers)
    assert [answer.status_code for answer in answers] == [200, 200, 422, 401, 401]
    assert len(upstream.seen) == 6 + 4  # the last time in each dialect, to see whom to blame
    assert helpers.key.encode() not in heard
    assert helpers.key not in running.log.read_text()
    assert helpers.key not in str(running.verdict)
    assert helpers.key not in json.dumps(running.gateway.config.to_json())
    assert heard.count(b"<key>") == 6


def test_refused_requests_do_not_fill_the_disk(start, upstream):
    with start() as running:
        big = {"model": "unknown", "messages": [{"role": "user", "content": "x" * 200_000}]}
        assert running.post("/v1/chat/completions", big).status_code == 404
        assert running.post("/v1/chat/completions", {"model": "unknown"}).status_code == 404
    first, second = running.recorded()
    assert "request" not in first
    assert first["request_omitted_bytes"] > 200_000
    assert second["request"] == {"model": "unknown"}


def test_a_large_request_that_the_upstream_refuses_is_not_kept_whole(start, upstream):
    upstream.script.append(JSONResponse({"error": {"message": "too long"}}, 400))
    with start() as running:
        running.chat("x" * (2 << 20))
        running.chat("x" * (2 << 20))
    first, second = running.recorded()
    assert first["request_omitted_bytes"] > 2 << 20
    assert len(second["request"]["messages"][0]["content"]) == 2 << 20


def test_requests_that_cost_nothing_do_not_fill_the_disk(start, upstream, monkeypatch):
    """Be they refused by the upstream, or questions of how many tokens they have."""
    monkeypatch.setattr(app, "MAX_FREE_BYTES", 10_000)
    question = {"model": "solver", "messages": [{"role": "user", "content": "x" * 3000}]}
    upstream.script += [JSONResponse({"error": {"message": "no"}}, 400), None] * 3
    with start() as running:
        for _ in range(3):
            assert running.post("/v1/chat/completions", question).status_code == 400
            assert running.post("/v1/messages/count_tokens", question).status_code == 200
        assert running.post("/v1/chat/completions", question).status_code == 200
    assert ["request" in entry for entry in running.recorded()] == [True] * 3 + [False] * 3 + [True]
    assert running.recorded()[3]["request_omitted_bytes"] > 3000


def test_an_attempt_that_goes_on_after_a_kill_appends(start, upstream):
    with start() as running:
        running.chat()
    with running.log.open("ab") as file:
        file.write(b'{"half": ')
    with start() as again:
        again.chat()
    assert [entry["status"] for entry in again.recorded()] == [200, 200]


def test_environment_and_process_are_no_place_for_the_key(start, helpers):
    """The key is used from memory; nothing that a child would inherit is changed."""
    before = dict(os.environ)
    with start() as running:
        running.chat()
    assert dict(os.environ) == before
    assert isinstance(httpx.__version__, str)
