"""True clients, as agents use them, through the gateway over TCP: streaming and not, waiting, refused."""

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from starlette.responses import JSONResponse, Response

MESSAGES = [{"role": "user", "content": "Hi"}]
# Deprecations inside the clients are not ours.
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")


@pytest.fixture
def clients(start, tcp, helpers):
    """`with clients(...) as (running, openai, anthropic, google)`."""
    from contextlib import contextmanager

    @contextmanager
    def connected(**arguments):
        with start(**arguments) as running, tcp(running.gateway.app) as url:
            options = genai.types.HttpOptions(base_url=url)
            with (
                openai.OpenAI(base_url=f"{url}/v1", api_key=helpers.token, max_retries=0) as first,
                anthropic.Anthropic(base_url=url, api_key=helpers.token, max_retries=0) as second,
            ):
                yield running, first, second, genai.Client(api_key=helpers.token, http_options=options)

    return connected


# What happens before the answer: nothing, or tries that fail while the client waits and hears the gateway's signs.
WAITS = {"at once": (0, 5.0), "after a wait": (3, 0.02)}


@pytest.mark.parametrize("wait", WAITS)
def test_openai(clients, upstream, helpers, wait):
    failures, quiet = WAITS[wait]
    with clients(keep={"quiet_seconds": quiet, "retry_seconds": 0.1}) as (running, client, _, _):

        def fail():
            upstream.script += [Response("", 503)] * failures

        fail()
        answer = client.chat.completions.create(model="solver", messages=MESSAGES)
        assert answer.choices[0].message.content == helpers.text
        fail()
        chunks = list(client.chat.completions.create(model="solver", messages=MESSAGES, stream=True))
        assert "".join(chunk.choices[0].delta.content for chunk in chunks) == helpers.text
        fail()
        counted = client.chat.completions.create(
            model="solver", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        assert list(counted)[-1].usage.prompt_tokens == 100
        fail()
        assert client.responses.create(model="solver", input="Hi").output_text == helpers.text
        fail()
        events = list(client.responses.create(model="solver", input="Hi", stream=True))
        assert events[-1].type == "response.completed"
        assert client.completions.create(model="solver", prompt="Hi").choices[0].text == helpers.text
        assert len(client.embeddings.create(model="helper", input="Hi").data[0].embedding) == 2
        assert [model.id for model in client.models.list()] == ["solver", "helper"]
    assert running.use.failed_tries == 5 * failures


@pytest.mark.parametrize("wait", WAITS)
def test_anthropic(clients, upstream, helpers, wait):
    failures, quiet = WAITS[wait]
    with clients(keep={"quiet_seconds": quiet, "retry_seconds": 0.1}) as (running, _, client, _):
        upstream.script += [Response("", 529)] * failures
        answer = client.messages.create(model="solver", max_tokens=9, messages=MESSAGES)
        assert answer.content[0].text == helpers.text
        upstream.script += [Response("", 529)] * failures
        with client.messages.stream(model="solver", max_tokens=9, messages=MESSAGES) as stream:
            assert "".join(stream.text_stream) == helpers.text
        assert client.messages.count_tokens(model="solver", messages=MESSAGES).input_tokens == 7
        assert [model.id for model in client.models.list()] == ["solver", "helper"]
    assert running.use.failed_tries == 2 * failures


@pytest.mark.parametrize("wait", WAITS)
def test_google(clients, upstream, helpers, wait):
    failures, quiet = WAITS[wait]
    with clients(keep={"quiet_seconds": quiet, "retry_seconds": 0.1}) as (running, _, _, client):
        upstream.script += [Response("", 503)] * failures
        assert client.models.generate_content(model="solver", contents="Hi").text == helpers.text
        upstream.script += [Response("", 503)] * failures
        chunks = list(client.models.generate_content_stream(model="solver", contents="Hi"))
        assert "".join(chunk.text for chunk in chunks) == helpers.text
        assert client.models.count_tokens(model="solver", contents="Hi").total_tokens == 7
        assert [model.name for model in client.models.list()] == ["models/solver", "models/helper"]
        assert client.models.get(model="solver").name == "models/solver"
    assert running.use.failed_tries == 2 * failures


def test_a_spent_budget_is_an_error_that_clients_do_not_repeat(start, tcp, upstream, helpers):
    with start(max_requests=1) as running, tcp(running.gateway.app) as url:
        assert running.chat().status_code == 200
        with openai.OpenAI(base_url=f"{url}/v1", api_key=helpers.token, max_retries=3) as client:
            with pytest.raises(openai.AuthenticationError, match="the budget is spent"):
                client.chat.completions.create(model="solver", messages=MESSAGES)
            with pytest.raises(openai.AuthenticationError, match="the budget is spent"):
                client.responses.create(model="solver", input="Hi", stream=True)
        with (
            anthropic.Anthropic(base_url=url, api_key=helpers.token, max_retries=3) as client,
            pytest.raises(anthropic.PermissionDeniedError, match="the budget is spent"),
        ):
            client.messages.create(model="solver", max_tokens=9, messages=MESSAGES)
        google = genai.Client(api_key=helpers.token, http_options=genai.types.HttpOptions(base_url=url))
        with pytest.raises(google_errors.ClientError, match="the budget is spent") as caught:
            google.models.generate_content(model="solver", contents="Hi")
        assert caught.value.code == 403
    assert running.use.refused == 4  # each client asked once
    assert len(upstream.seen) == 1


def test_an_unknown_model_is_an_error_that_clients_do_not_repeat(start, tcp, upstream, helpers):
    with start() as running, tcp(running.gateway.app) as url:
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key=helpers.token, max_retries=3) as client,
            pytest.raises(openai.NotFoundError, match="there is: solver, helper"),
        ):
            client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        with (
            anthropic.Anthropic(base_url=url, api_key=helpers.token, max_retries=3) as client,
            pytest.raises(anthropic.NotFoundError, match="not allowed here"),
        ):
            client.messages.create(model="claude", max_tokens=9, messages=MESSAGES)
    assert running.use.refused == 2


def test_a_late_error_in_a_stream_reaches_the_client(clients, upstream):
    refusal = JSONResponse({"error": {"message": "too long", "type": "invalid_request_error", "code": "x"}}, 400)
    patience = {"quiet_seconds": 0.02, "retry_seconds": 0.1}
    with clients(keep=patience) as (_, client, second, _):
        upstream.script += [Response("", 503), Response("", 503), refusal]
        with pytest.raises(openai.APIError, match="too long"):
            list(client.chat.completions.create(model="solver", messages=MESSAGES, stream=True))
        upstream.script += [Response("", 503), Response("", 503), refusal]
        with pytest.raises(openai.APIError, match="too long"):
            list(client.responses.create(model="solver", input="Hi", stream=True))
        refusal = JSONResponse(
            {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}, 400
        )
        upstream.script += [Response("", 503), Response("", 503), refusal]
        with (
            pytest.raises(anthropic.APIStatusError, match="too long"),
            second.messages.stream(model="solver", max_tokens=9, messages=MESSAGES) as stream,
        ):
            list(stream)
