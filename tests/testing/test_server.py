"""The server speaks the dialects truly: to the makers' own clients, and event by event."""

import base64
import json
import re
import socket
import struct
import threading

import anthropic
import httpx
import openai
import pytest

from mlebench.errors import UsageError
from mlebench.testing import Fault, Reply, ToolCall, Use, serve

ASK = [{"role": "user", "content": "three short words"}]
LOOK = Reply("I look.", (ToolCall("bash", {"command": "ls -la"}),), reasoning="Let me think")
LONG = "word " * 100


@pytest.fixture
def clients():
    """`clients(server) -> (openai, anthropic)`; closed at the end."""
    made = []

    def make(server, key="any"):
        pair = (
            openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0),
            anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0),
        )
        made.extend(pair)
        return pair

    yield make
    for client in made:
        client.close()


def events(response):
    """The (name, data) of server-sent events."""
    found = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line)
        if lines:
            found.append((lines.get("event"), lines["data"]))
    return found


def names(response):
    return [name for name, _ in events(response)]


def chat(server, **more):
    return httpx.post(f"{server.url}/v1/chat/completions", json={"model": "m", "messages": ASK, **more}, timeout=20)


# --- OpenAI's chat completions


def test_chat_completion(clients):
    with serve([LOOK]) as server:
        answer = clients(server)[0].chat.completions.create(model="m", messages=ASK)
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("I look.", "tool_calls")
    assert json.loads(choice.message.tool_calls[0].function.arguments) == {"command": "ls -la"}
    assert answer.usage.prompt_tokens == 3
    assert answer.usage.completion_tokens_details.reasoning_tokens == 3
    assert answer.usage.completion_tokens == 2 + 3 + 1 + 3  # text, reasoning, the tool's name, its arguments
    assert server.use == {"m": Use(1, 3, 0, 9, 3)}


@pytest.mark.parametrize("told", [True, False])
def test_chat_stream(clients, told):
    options = {"stream_options": {"include_usage": True}} if told else {}
    with serve([Reply(LONG, LOOK.calls)]) as server:
        chunks = list(clients(server)[0].chat.completions.create(model="m", messages=ASK, stream=True, **options))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == LONG
    parts = [call for delta in deltas for call in delta.tool_calls or []]
    assert parts[0].id
    assert parts[0].function.name == "bash"
    assert json.loads("".join(part.function.arguments for part in parts)) == {"command": "ls -la"}
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [told]
    assert (chunks[-1].choices == []) is told
    assert server.use["m"].output_tokens == 104


def test_the_stream_of_a_chat_ends_with_done():
    with serve([Reply("Hello.")]) as server:
        assert events(chat(server, stream=True))[-1] == (None, "[DONE]")


def test_a_forced_function_reaches_the_engineer():
    def engineer(request):
        return Reply.call(request.forced_tool, {"is_bug": False})

    tools = [{"type": "function", "function": {"name": "submit_review", "parameters": {"type": "object"}}}]
    choice = {"type": "function", "function": {"name": "submit_review"}}
    with serve(engineer) as server:
        answer = chat(server, tools=tools, tool_choice=choice).json()
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "submit_review"
    assert answer["choices"][0]["message"]["content"] is None


def test_an_answer_ends_before_a_stop_sequence():
    with serve([Reply("Action: look\nObservation: all is well")]) as server:
        choice = chat(server, stop=["Observation:"]).json()["choices"][0]
    assert choice["message"]["content"] == "Action: look\n"
    assert choice["finish_reason"] == "stop"


def test_cached_tokens_are_those_before_the_last_turn():
    first = {"role": "assistant", "content": "two words"}
    with serve(["Good."]) as server:
        usage = chat(server, messages=[*ASK, first, *ASK]).json()["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (8, 3)


def test_the_end_for_lack_of_tokens():
    with serve([Reply("And then", finish="length")] * 4) as server:
        assert chat(server).json()["choices"][0]["finish_reason"] == "length"
        answer = httpx.post(f"{server.url}/v1/responses", json={"model": "m", "input": "go"}).json()
        assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        answer = httpx.post(f"{server.url}/v1/messages", json={"model": "m", "messages": ASK}).json()
        assert answer["stop_reason"] == "max_tokens"
        answer = google(server, "generateContent").json()
        assert answer["candidates"][0]["finishReason"] == "MAX_TOKENS"


# --- OpenAI's responses, completions, embeddings, models


def test_response(clients):
    with serve([LOOK]) as server:
        answer = clients(server)[0].responses.create(model="m", input="three short words", instructions="Be brief.")
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
    assert answer.output_text == "I look."
    assert json.loads(answer.output[2].arguments) == {"command": "ls -la"}
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 9)
    assert answer.usage.output_tokens_details.reasoning_tokens == 3


def test_response_stream():
    with serve([LOOK]) as server:
        body = {"model": "m", "input": "hi", "stream": True}
        response = httpx.post(f"{server.url}/v1/responses", json=body)
    assert names(response) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    data = [json.loads(text) for _, text in events(response)]
    assert [each["sequence_number"] for each in data] == list(range(len(data)))
    assert [each["type"] for each in data] == names(response)
    assert data[-1]["response"]["usage"]["output_tokens"] == 9
    assert data[-1]["response"]["output"] == [each["item"] for each in data if each["type"].endswith("item.done")]


def test_the_makers_client_understands_a_response_stream(clients):
    with serve([Reply(LONG, LOOK.calls)]) as server, clients(server)[0].responses.stream(model="m", input="hi") as got:
        final = got.until_done().get_final_response()
    assert final.output_text == LONG
    assert final.output[1].name == "bash"


def test_items_of_a_conversation_by_responses():
    seen = []
    items = [
        {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "train.csv"},
    ]
    tools = [
        {"type": "function", "name": "shell", "parameters": {}},
        {"type": "namespace", "name": "more", "tools": [{"type": "function", "name": "inner", "parameters": {}}]},
        {"type": "web_search"},
    ]
    with serve(lambda request: seen.append(request) or "Well.") as server:
        httpx.post(f"{server.url}/v1/responses", json={"model": "m", "input": items, "tools": tools})
    request = seen[0]
    assert request.system == "Be brief."
    assert [message.role for message in request.messages] == ["user", "assistant", "assistant", "tool"]
    assert request.turns == 1
    assert request.last == "train.csv"
    assert [(tool.name, tool.kind) for tool in request.tools] == [
        ("shell", "function"),
        ("inner", "function"),
        ("web_search", "web_search"),
    ]


def test_completion(clients):
    with serve(["and they lived", LONG]) as server:
        client = clients(server)[0]
        answer = client.completions.create(model="m", prompt="Once upon")
        chunks = list(client.completions.create(model="m", prompt="Once upon", stream=True))
    assert (answer.choices[0].text, answer.usage.prompt_tokens) == ("and they lived", 2)
    assert "".join(chunk.choices[0].text for chunk in chunks) == LONG


def test_embeddings_are_the_same_for_the_same_text(clients):
    texts = ["deep blue sea", "deep blue sky", "entirely other matters"]
    with serve([]) as server:
        client = clients(server)[0]
        packed = [each.embedding for each in client.embeddings.create(model="m", input=texts).data]  # asks for base64
        plain = client.embeddings.create(model="m", input=texts[0], encoding_format="float", dimensions=256)
        few = client.embeddings.create(model="m", input=texts[0], dimensions=7)
    assert packed[0] == pytest.approx(plain.data[0].embedding, abs=1e-6)
    assert len(few.data[0].embedding) == 7

    def similarity(one, two):
        return sum(a * b for a, b in zip(one, two, strict=True))

    assert similarity(packed[0], packed[0]) == pytest.approx(1)
    assert similarity(packed[0], packed[1]) > similarity(packed[0], packed[2]) + 0.3
    assert server.use["m"] == Use(3, 9 + 3 + 3, 0, 0, 0)


def test_models(clients):
    with serve() as server:
        ours = {model.id for model in clients(server)[0].models.list()}
        assert ours == {model.id for model in clients(server)[1].models.list()}
        assert clients(server)[0].models.retrieve("solver").id == "solver"
        listed = httpx.get(f"{server.url}/v1beta/models").json()["models"]
    assert {"solver", "stumbler", "looper", "climber", "forbidden", "spy", "babbler", "fumbler"} == ours
    assert {model["name"] for model in listed} == {f"models/{name}" for name in ours}


# --- Anthropic


def test_message(clients):
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    with serve([LOOK]) as server:
        client = clients(server)[1]
        answer = client.messages.create(model="m", max_tokens=9, messages=ASK, system="Be brief.", tools=tools)
        count = client.messages.count_tokens(model="m", messages=ASK, system="Be brief.", tools=tools)
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    assert answer.content[1].input == {"command": "ls -la"}
    assert answer.stop_reason == "tool_use"
    assert answer.usage.input_tokens == count.input_tokens == 3 + 2 + 3
    assert answer.usage.output_tokens == 9
    assert answer.usage.output_tokens_details.thinking_tokens == 3
    assert server.total.requests == 1  # counting isn't generating


def test_message_stream(clients):
    body = {"model": "m", "max_tokens": 9, "messages": ASK, "thinking": {"type": "adaptive"}, "stream": True}
    with serve([LOOK, Reply(LONG, LOOK.calls)]) as server:
        response = httpx.post(f"{server.url}/v1/messages?beta=true", json=body)
        with clients(server)[1].messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            final = stream.get_final_message()
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    thinking = [block[0], block[1], block[1], block[2]]  # the thought and its signature
    use = [block[0], block[1], block[1], block[2]]  # an empty delta first, as the true one sends it
    assert names(response) == [
        "message_start",
        "ping",
        *thinking,
        *block,
        *use,
        "message_delta",
        "message_stop",
    ]
    data = [json.loads(text) for _, text in events(response)]
    assert [each["type"] for each in data] == names(response)
    assert data[-2]["usage"]["output_tokens"] == 9
    assert data[-2]["delta"]["stop_reason"] == "tool_use"
    assert final.content[0].text == LONG
    assert final.content[1].input == {"command": "ls -la"}


def test_results_of_tools_in_messages():
    seen = []
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "train.csv"}]}
    messages = [*ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    choice = {"type": "tool", "name": "Bash"}
    with serve(lambda request: seen.append(request) or "Well.") as server:
        body = {"model": "m", "system": [{"type": "text", "text": "Be brief."}], "messages": messages}
        usage = httpx.post(f"{server.url}/v1/messages", json={**body, "tool_choice": choice}).json()["usage"]
    assert [(message.role, message.text) for message in seen[0].messages][1:] == [
        ("assistant", ""),
        ("tool", "train.csv"),
    ]
    assert seen[0].messages[1].calls[0].parsed == {"command": "ls"}
    assert (seen[0].forced_tool, seen[0].system) == ("Bash", "Be brief.")
    assert (usage["cache_read_input_tokens"], usage["input_tokens"]) == (5, 1 + 2 + 1)


def test_a_stop_sequence_is_named_in_messages():
    with serve(["one END two"]) as server:
        body = {"model": "m", "messages": ASK, "stop_sequences": ["END"]}
        answer = httpx.post(f"{server.url}/v1/messages", json=body).json()
    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "END")
    assert answer["content"] == [{"type": "text", "text": "one "}]


# --- Google


def google(server, method, **more):
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "shell", "args": {"command": "ls"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "train.csv"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": {}}]}, {"googleSearch": {}}],
        **more,
    }
    return httpx.post(f"{server.url}/v1beta/models/m:{method}", json=body, timeout=20)


def test_generate_content():
    seen = []
    with serve(lambda request: seen.append(request) or LOOK) as server:
        answer = google(server, "generateContent").json()
        count = google(server, "countTokens").json()
    parts = answer["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "I look."}, {"functionCall": {"name": "bash", "args": {"command": "ls -la"}}}]
    assert answer["candidates"][0]["finishReason"] == "STOP"
    usage = answer["usageMetadata"]
    assert usage["promptTokenCount"] == count["totalTokens"]
    assert (usage["candidatesTokenCount"], usage["thoughtsTokenCount"]) == (6, 3)
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + 9
    request = seen[0]
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    assert request.last == "train.csv"
    assert [tool.kind for tool in request.tools] == ["function", "googleSearch"]


def test_generate_content_stream():
    with serve([Reply(LONG, LOOK.calls)] * 2) as server:
        sse = google(server, "streamGenerateContent?alt=sse")
        array = google(server, "streamGenerateContent").json()
    chunks = [json.loads(data) for _, data in events(sse)]
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    assert len(chunks) > 2
    assert "".join(part.get("text", "") for part in parts) == LONG
    assert parts[-1]["functionCall"]["name"] == "bash"
    assert ["usageMetadata" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert [each["candidates"] for each in array] == [each["candidates"] for each in chunks]


# --- faults


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
def test_a_fault_with_a_status_speaks_the_dialect(status, stream):
    fault = Fault.error(status, "as told")
    with serve([fault] * 3) as server:
        said = chat(server, stream=stream)
        assert (said.status_code, said.json()["error"]["message"]) == (status, "as told")
        said = httpx.post(f"{server.url}/v1/messages", json={"model": "m", "messages": ASK, "stream": stream})
        assert (said.status_code, said.json()["type"]) == (status, "error")
        assert said.json()["error"]["message"] == "as told"
        said = google(server, "streamGenerateContent?alt=sse" if stream else "generateContent")
        assert (said.status_code, said.json()["error"]["code"]) == (status, status)
    assert [recorded.status for recorded in server.requests] == [status] * 3
    assert server.use == {}


def test_the_makers_clients_raise_their_own_errors(clients):
    with serve([Fault.rate_limit(7), Fault.rate_limit(None), Fault.overloaded(), Fault.unauthorized()]) as server:
        ours, theirs = clients(server)
        with pytest.raises(openai.RateLimitError) as caught:
            ours.chat.completions.create(model="m", messages=ASK)
        assert caught.value.response.headers["retry-after"] == "7"
        with pytest.raises(anthropic.RateLimitError) as limited:
            theirs.messages.create(model="m", max_tokens=9, messages=ASK)
        assert "retry-after" not in limited.value.response.headers
        with pytest.raises(anthropic.InternalServerError, match="overloaded_error"):
            theirs.messages.create(model="m", max_tokens=9, messages=ASK)
        with pytest.raises(openai.AuthenticationError):
            ours.responses.create(model="m", input="hi")


def test_a_client_that_retries_gets_over_a_fault():
    with (
        serve(["Here."], faults={1: Fault.error(500), 2: Fault.rate_limit(0)}) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=2) as client,
    ):
        answer = client.chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.content == "Here."
    assert [recorded.status for recorded in server.requests] == [500, 429, 200]
    assert server.use["m"].requests == 1


def test_a_dropped_connection():
    with serve(["Here."], faults={1: Fault.disconnect()}) as server:
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            chat(server)
        assert chat(server).status_code == 200
    assert server.requests[0].status == 0


def receive(server, received):
    """Ask for a stream and append its blocks as they come."""
    body = {"model": "m", "messages": ASK, "stream": True}
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body) as response:
        for block in response.iter_raw():
            received.append(block)


@pytest.mark.parametrize("after", [0, 1, 3, 1000])
def test_a_broken_stream(after):
    with serve(["Spent.", LONG], faults={1: Fault.broken_stream(after)}) as server:
        received: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError):
            receive(server, received)
        arrived = b"".join(received)
        assert arrived.count(b"data: ") == min(after, 3)  # all but the last event at most
        assert b"[DONE]" not in arrived
        assert server.use == {}
        assert "[DONE]" in chat(server, stream=True).text


def test_an_answer_that_is_no_stream_breaks_too():
    with serve([LONG], faults={1: Fault.broken_stream()}) as server, pytest.raises(httpx.RemoteProtocolError):
        chat(server)


@pytest.mark.parametrize("stream", [False, True])
def test_a_slow_drip_arrives_whole(stream):
    with serve([LONG] * 2, faults={1: Fault.drip(0.01)}) as server:
        dripped, plain = chat(server, stream=stream), chat(server, stream=stream)

    def without_ids(response):
        return re.sub(r"chatcmpl_\w+", "", response.text)

    assert without_ids(dripped) == without_ids(plain)
    assert server.use["m"].requests == 2


def test_a_request_that_hangs_is_ended_by_the_client_and_holds_up_nobody():
    with serve(["Here."], faults={1: Fault.hang()}) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/v1/chat/completions", json={"model": "m", "messages": ASK}, timeout=0.5)
        assert chat(server).status_code == 200


def test_the_server_ends_although_a_request_hangs():
    with serve([Fault.hang()]) as server:
        left = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
        body = json.dumps({"model": "m", "messages": ASK}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        left.sendall(head.encode() + body)
        while not server.requests:
            threading.Event().wait(0.01)
    with left:
        assert left.recv(1) in (b"", b"H")  # closed, or a status that says so


@pytest.mark.parametrize("stream", [False, True])
def test_wrong_json(stream):
    with serve([LONG], faults={1: Fault.wrong_json()}) as server:
        response = chat(server, stream=stream)
    assert response.status_code == 200
    texts = [data for _, data in events(response)] if stream else [response.text]
    with pytest.raises(json.JSONDecodeError):
        [json.loads(text) for text in texts if text != "[DONE]"]


def test_malformed_tool_calls():
    with serve([Reply("", (ToolCall.malformed("bash"),))] * 4) as server:
        call = chat(server).json()["choices"][0]["message"]["tool_calls"][0]["function"]
        with pytest.raises(json.JSONDecodeError):
            json.loads(call["arguments"])
        body = {"model": "m", "messages": ASK}
        assert httpx.post(f"{server.url}/v1/messages", json=body).json()["content"][0]["input"] == {}
        streamed = events(httpx.post(f"{server.url}/v1/messages", json={**body, "stream": True}))
        parts = [json.loads(data)["delta"]["partial_json"] for _, data in streamed if "input_json_delta" in data]
        with pytest.raises(json.JSONDecodeError):
            json.loads("".join(parts))
        assert google(server, "generateContent").json()["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"


def test_huge_answers_arrive_whole():
    with serve([Reply.huge(3_000_000)] * 2) as server:
        whole = chat(server).json()["choices"][0]["message"]["content"]
        streamed = events(chat(server, stream=True))
    assert len(whole) >= 3_000_000
    texts = [json.loads(data)["choices"][0]["delta"].get("content", "") for _, data in streamed[:-1]]
    assert "".join(texts) == whole


# --- the script, the key, the record


def test_one_table_for_several_models():
    table = {"a": ["One.", "Two."], "b": lambda request: f"Number {request.number}."}
    with serve(table) as server:
        said = [chat(server, model=name).json() for name in ("b", "a", "scripted/b", "a")]
        missing = chat(server, model="c")
    assert [each["choices"][0]["message"]["content"] for each in said] == ["Number 1.", "One.", "Number 1.", "Two."]
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")
    assert {name: use.requests for name, use in server.use.items()} == {"a": 2, "b": 1, "scripted/b": 1}
    assert server.total.requests == 4


def test_a_wrong_key_is_refused_in_every_dialect(clients):
    with serve(["Here."] * 3, key="right") as server:
        ours, theirs = clients(server, "wrong")
        with pytest.raises(openai.AuthenticationError):
            ours.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(openai.AuthenticationError):
            ours.models.list()
        with pytest.raises(anthropic.AuthenticationError):
            theirs.messages.create(model="m", max_tokens=9, messages=ASK)
        with pytest.raises(anthropic.AuthenticationError):
            theirs.messages.count_tokens(model="m", messages=ASK)
        assert google(server, "generateContent").status_code == 401
        assert server.use == {}
        ours, theirs = clients(server, "right")
        assert ours.chat.completions.create(model="m", messages=ASK)
        assert theirs.messages.create(model="m", max_tokens=9, messages=ASK)
        body = {"contents": [{"parts": [{"text": "hi"}]}]}
        url = f"{server.url}/v1beta/models/m:generateContent"
        assert httpx.post(url, json=body, headers={"x-goog-api-key": "right"}).status_code == 200


def ask(script, requests, seen):
    """Play a script, and append the status of each answer."""
    with serve(script) as server:
        seen.extend(chat(server).status_code for _ in range(requests))


def test_a_script_that_is_over_is_the_tests_fault():
    seen = []
    with pytest.raises(IndexError, match="the script has 1 items, and this is request 2"):
        ask(["Once."], 2, seen)
    assert seen == [200, 500]


def test_an_engineer_that_fails_is_seen_by_the_test():
    def engineer(request):
        raise ZeroDivisionError("the engineer's own")

    seen = []
    with pytest.raises(ZeroDivisionError):
        ask(engineer, 1, seen)
    assert seen == [500]


def test_a_text_is_no_script():
    with pytest.raises(UsageError, match="a script is a list"), serve("Hello."):
        pass


def test_an_address_that_is_taken_is_named():
    with serve(["Here."]) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(UsageError, match=f"can't listen on 127.0.0.1:{port}"), serve(["There."], port=port):
            pass


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"messages": [1]}', b'{"messages": 5}'])
def test_a_request_that_is_no_request_is_refused(body):
    with serve(["Here."]) as server:
        response = httpx.post(f"{server.url}/v1/chat/completions", content=body)
    assert response.status_code == 400
    assert "error" in response.json()


def test_requests_are_recorded():
    with serve(["Here."]) as server:
        chat(server, temperature=0.5)
    recorded = server.requests[0]
    assert (recorded.method, recorded.path, recorded.status) == ("POST", "/v1/chat/completions", 200)
    assert recorded.body["temperature"] == 0.5
    assert recorded.request.messages[0].text == "three short words"
    assert recorded.reply.text == "Here."
    assert recorded.use == server.use["m"]


def test_many_at_once():
    def one():
        statuses.append(chat(server).status_code)

    statuses = []
    with serve([Reply("Here.", delay=0.05)] * 16) as server:
        threads = [threading.Thread(target=one) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 16
    assert server.total.requests == 16


def test_vectors_are_packed_as_small_floats():
    with serve([]) as server:
        body = {"model": "m", "input": "one", "encoding_format": "base64", "dimensions": 3}
        packed = httpx.post(f"{server.url}/v1/embeddings", json=body).json()["data"][0]["embedding"]
    assert len(struct.unpack("<3f", base64.b64decode(packed))) == 3
