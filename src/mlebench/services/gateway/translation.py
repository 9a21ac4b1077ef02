"""Models behind another dialect than OpenAI's chat, by the library litellm (an optional extra)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mlebench.services.gateway.answers import Answer

if TYPE_CHECKING:
    from mlebench.services.gateway.calls import Order

# Nothing else of a request reaches the library: an agent must not choose another address or another key.
PARAMETERS = frozenset(
    (
        "messages",
        *("temperature", "top_p", "n", "stop", "seed", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort"),
        *("max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "response_format"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    )
)


async def translate(order: Order, key: str | None) -> Answer:
    """One call by the library, answered in OpenAI's form; its errors become what a server would have said."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network when it is imported
    import litellm  # pyright: ignore[reportMissingImports]

    arguments: dict[str, Any] = {name: value for name, value in order.body.items() if name in PARAMETERS}
    arguments |= {"model": order.model.name, "num_retries": 0, "drop_params": True, **order.upstream.options}
    if order.upstream.url:
        arguments["api_base"] = order.upstream.url
    if key:
        arguments["api_key"] = key
    try:
        if order.stream:
            return await _streamed(litellm, arguments)
        response = await litellm.acompletion(**arguments)
    except Exception as error:  # each of the library's errors has a status of its own
        return _failed(error)
    return Answer(200, {"content-type": "application/json"}, response.model_dump_json().encode())


async def _streamed(litellm: Any, arguments: dict[str, Any]) -> Answer:
    lines = []
    stream = await litellm.acompletion(**arguments, stream=True, stream_options={"include_usage": True})
    async for chunk in stream:
        lines.append(f"data: {chunk.model_dump_json()}\n\n")
    return Answer(200, {"content-type": "text/event-stream"}, "".join([*lines, "data: [DONE]\n\n"]).encode())


def _failed(error: Exception) -> Answer:
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) and status >= 400 else 500
    document = {"error": {"message": str(error), "type": type(error).__name__, "param": None, "code": None}}
    return Answer(status, {"content-type": "application/json"}, json.dumps(document).encode())
