"""The gateway itself: takes an agent's requests, and answers each out of a model, a recording, or with an error."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route as WebRoute

from mlebench.errors import UsageError
from mlebench.services.gateway.answers import Answer, Judgement
from mlebench.services.gateway.budget import SPENT, Ledger, ModelUse
from mlebench.services.gateway.calls import Caller, GatewayFailure, Order
from mlebench.services.gateway.config import GatewayConfig, read_key, require_library
from mlebench.services.gateway.dialects import Route, error_document, stop_status
from mlebench.services.gateway.exchange import Endpoint
from mlebench.services.gateway.policy import Refused, clean
from mlebench.services.gateway.recording import Recorder, body_fields, recorded_body
from mlebench.services.gateway.replay import Replay, request_key, request_shape
from mlebench.services.gateway.requests import MAX_BODY_BYTES, Call, Prepared, Rejection, Reply, Room, json_reply
from mlebench.services.gateway.streams import readable_events
from mlebench.services.gateway.usage import Tokens, tokens_of

MAX_REFUSALS_RECORDED = 10_000
MAX_REFUSED_BYTES = 64 << 10  # of a request that is recorded although it was refused
MAX_FAULTY_BYTES = 1 << 20  # and of one that cost nothing, since the upstream refused it, say
MAX_FREE_BYTES = 256 << 20  # of all such together


class Gateway:
    """The way of one attempt to its models. `app` is to be served; `use` and `verdict` may be read by any thread.

    `log` becomes the recording (gateway.jsonl), `token` is what clients have to show. With `replay`, a recording of
    an earlier attempt, answers come from there, and no key is needed. Raises UsageError if a key isn't set.
    """

    def __init__(
        self,
        config: GatewayConfig,
        log: Path,
        token: str,
        replay: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self._token = token.encode()
        self._ledger = Ledger(config)
        if replay and log.exists() and log.samefile(replay):
            raise UsageError(f"{log} can't be replayed and written at once")
        self._replay = Replay(replay) if replay else None
        keys = {} if replay else {each.name: read_key(each, environ) for each in config.upstreams}
        if not replay:
            for upstream in config.upstreams:
                require_library(upstream)
        self._caller = Caller(config, self._ledger, keys)
        self._places = asyncio.Semaphore(config.max_concurrent)
        self.room = Room(MAX_BODY_BYTES)
        self._answer_ids: set[str] = set()
        self._refusals = 0
        self._free_bytes = 0
        self._recorder = Recorder(log)
        self.app = Starlette(routes=[WebRoute("/{path:path}", Endpoint(self))])

    @property
    def use(self) -> ModelUse:
        """What the attempt has used up to now."""
        return self._ledger.use

    @property
    def verdict(self) -> tuple[str, str] | None:
        """("budget-spent" or "gateway-error", reason) once the attempt has to end, else None."""
        return self._ledger.verdict

    def close(self) -> None:
        """Close the recording, after the app is no longer served."""
        self._recorder.close()

    def require_token(self, headers: Mapping[str, str], query: Mapping[str, str], dialect: str) -> None:
        """Raise Rejection if a client doesn't show the attempt's token, by any of the dialects' ways."""
        bearer = headers.get("authorization", "")
        scheme, _, value = bearer.partition(" ")
        shown = [value.strip()] if scheme.lower() == "bearer" else []
        shown += [headers.get("x-api-key"), headers.get("x-goog-api-key"), query.get("key")]
        if not any(hmac.compare_digest(each.encode(), self._token) for each in shown if each):
            message = "the key is not this attempt's token; it is in the environment, for example as OPENAI_API_KEY"
            raise Rejection(stop_status(dialect), "wrong_token", message)

    def require_no_verdict(self, dialect: str) -> None:
        """Raise Rejection if the attempt has to end."""
        if self.verdict:
            raise self._verdict_rejection(dialect)

    def _verdict_rejection(self, dialect: str) -> Rejection:
        """The error that tells a client to give up; what an upstream said is not for the agent."""
        end, reason = self.verdict or ("", "")
        message = f"the budget is spent: {reason}" if end == SPENT else "the way to the model failed"
        code = end.replace("-", "_")
        return Rejection(stop_status(dialect), code, f"{message}. This attempt gets no further answers of a model.")

    def prepare(self, route: Route, body: dict[str, Any]) -> Prepared:
        """Judge a request before anything is spent on it. Raises Rejection."""
        asked = route.model if route.model is not None else body.get("model")
        if not isinstance(asked, str):
            raise Rejection(400, "invalid_request", '"model" is missing, or is no text')
        model = self.config.find(asked)
        if model is None:
            known = ", ".join(each.short_name for each in self.config.models)
            raise Rejection(404, "model_not_found", f'the model "{asked[:200]}" is not allowed here; there is: {known}')
        upstream = self.config.upstream(model)
        if route.dialect not in upstream.dialects:
            spoken = ", ".join(upstream.dialects)
            raise Rejection(404, "unknown_dialect", f"{asked} can't be asked in {route.dialect}, only in: {spoken}")
        stream = route.stream or (route.dialect != "google" and body.get("stream") is True)
        key = request_key(route, stream, model.full_name, body)
        shape = request_shape(route, stream, model.full_name, body)
        removed: list[str] = []
        if not self.config.provider_tools:
            try:
                removed = clean(route.dialect, body, self._answer_ids)
            except Refused as refused:
                raise Rejection(400, "not_allowed", str(refused)) from refused
            self._ledger.add_removed(removed)
        return Prepared(asked, model, stream, key, shape, removed, body)

    def record(self, entry: Mapping[str, Any]) -> None:
        """Append a call to the recording; an attempt that can't be recorded has to end."""
        try:
            self._recorder.write({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
        except OSError as error:
            self._ledger.condemn(f"the recording can't be written: {error}")
            raise

    def refuse(self, entry: Mapping[str, Any], request: Any, size: int) -> None:
        """Count and record a request that isn't relayed. There may be any number of them, but not in the recording."""
        self._ledger.add_refused()
        self._refusals += 1
        if self._refusals <= MAX_REFUSALS_RECORDED:
            with suppress(OSError):  # that is in the verdict already
                self.record({**entry, **_bounded("request", request, size, MAX_REFUSED_BYTES)})

    async def answer(self, call: Call) -> Reply:
        """Answer a request that was prepared, count what it uses, and record it. Raises Rejection."""
        async with self._places:
            self._ledger.begin()
            self.require_no_verdict(call.route.dialect)
            call.begun = True
            try:
                if self._replay:
                    return self._answer_again(self._replay, call)
                return await self._answer_anew(call)
            except GatewayFailure as failure:
                self._ledger.condemn(str(failure))
                self.record({**call.entry(), "status": None, "error": str(failure), "request": call.original})
                rejection = self._verdict_rejection(call.route.dialect)
                document = error_document(call.route.dialect, rejection.status, rejection.code, rejection.message)
                return json_reply(document, rejection.status)
            except asyncio.CancelledError:
                self._count_cancelled(call)
                raise

    async def _answer_anew(self, call: Call) -> Reply:
        prepared, route = call.prepared, call.route
        body, hidden = self._outgoing(prepared, route)
        order = Order(
            prepared.model,
            self.config.upstream(prepared.model),
            route,
            prepared.stream,
            body,
            call.headers,
            call.query,
        )
        answer, judgement = await self._caller.call(order, call.progress)
        succeeded = 200 <= answer.status < 300
        tokens = tokens_of(route.dialect, judgement.documents) if succeeded and route.operation == "call" else None
        if route.operation == "call" and succeeded:
            self._count(call, tokens)
        self._remember_ids(route, judgement.documents)
        content = self._caller.scrub(_without_usage(answer, judgement) if hidden else answer.body)
        reply = Reply(answer.status, content, answer.content_type)
        self._record_answer(call, reply, tokens)
        return reply

    def _outgoing(self, prepared: Prepared, route: Route) -> tuple[dict[str, Any], bool]:
        """The body for the upstream, and whether it asks for an event that the client didn't ask for."""
        body = prepared.body
        if route.dialect == "google":
            inner = body.get("generateContentRequest")  # what countTokens may count instead
            for each in (body, inner):
                if isinstance(each, dict) and "model" in each:
                    each["model"] = f"models/{prepared.model.name}"
            return body, False
        body["model"] = prepared.model.name
        counted = route.dialect in ("openai-chat", "openai-completions") and prepared.stream
        upstream = self.config.upstream(prepared.model)
        if not counted or not upstream.stream_usage:
            return body, False
        options = body.get("stream_options")
        options = options if isinstance(options, dict) else {}
        body["stream_options"] = options | {"include_usage": True}
        return body, options.get("include_usage") is not True

    def _answer_again(self, replay: Replay, call: Call) -> Reply:
        prepared = call.prepared
        found = replay.take(prepared.key, prepared.shape)
        if found is None:
            raise GatewayFailure(
                f"the replay has no answer to request {self.use.requests} ({call.route.dialect}, {prepared.asked})"
            )
        entry, exact = found
        call.replay = "exact" if exact else "next"
        self._ledger.add_replayed(exact)
        response = entry["response"]
        reply = Reply(response["status"], recorded_body(response), response["content_type"])
        tokens = Tokens(**entry["tokens"]) if entry.get("tokens") else None
        if call.route.operation == "call" and 200 <= reply.status < 300:
            self._count(call, tokens)
        documents = [event.document for event in readable_events(reply.body)] if prepared.stream else []
        with suppress(ValueError):
            documents = documents or [json.loads(reply.body)]
        self._remember_ids(call.route, documents)
        self._record_answer(call, reply, tokens)
        return reply

    def _count(self, call: Call, tokens: Tokens | None) -> None:
        price = call.prepared.model.price
        call.dollars = price.dollars(tokens) if price and tokens else None
        self._ledger.add(tokens, call.dollars)

    def _count_cancelled(self, call: Call) -> None:
        """The client went away: the provider may charge for what it had begun, and told up to then."""
        documents = [event.document for event in readable_events(bytes(call.progress.received))]
        tokens = tokens_of(call.route.dialect, documents)
        if call.route.operation == "call":
            self._count(call, tokens)
        entry = {**call.entry(), "status": None, "error": "the client went away", **self._asked(call, tokens)}
        self.record({**entry, "tokens": _plain(tokens), "dollars": call.dollars})

    def _record_answer(self, call: Call, reply: Reply, tokens: Tokens | None) -> None:
        response = {"status": reply.status, "content_type": reply.content_type, **body_fields(reply.body)}
        entry = {**call.entry(), "status": reply.status, "tokens": _plain(tokens), "dollars": call.dollars}
        self.record({**entry, **self._asked(call, tokens), "response": response})

    def _asked(self, call: Call, tokens: Tokens | None) -> dict[str, Any]:
        """The request for the recording; what costs nothing must not fill the disk."""
        limit = None
        if tokens is None:
            self._free_bytes += call.size
            limit = MAX_FAULTY_BYTES if self._free_bytes <= MAX_FREE_BYTES else 0
        return _bounded("request", call.original, call.size, limit)

    def _remember_ids(self, route: Route, documents: list[Any]) -> None:
        """Later requests may refer to these: they are this attempt's own."""
        if route.dialect != "openai-responses":
            return
        for document in documents:
            if isinstance(document, dict):
                response = document.get("response", document)
                output = response.get("output") if isinstance(response, dict) else None
                for each in (response, document.get("item"), *(output if isinstance(output, list) else ())):
                    if isinstance(each, dict) and isinstance(each.get("id"), str):
                        self._answer_ids.add(each["id"])


def _without_usage(answer: Answer, judgement: Judgement) -> bytes:
    """A stream without the event of counts alone, for a client that didn't ask for it."""
    kept = []
    for event in judgement.events or ():
        document = event.document
        if isinstance(document, dict) and document.get("choices") == [] and document.get("usage"):
            continue
        kept.append(event.raw)
    return b"".join(kept) if judgement.events else answer.body


def _bounded(name: str, value: Any, size: int, limit: int | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {name: value} if limit is None or size <= limit else {f"{name}_omitted_bytes": size}


def _plain(tokens: Tokens | None) -> dict[str, int] | None:
    return None if tokens is None else asdict(tokens)
