"""OpenAI's embeddings: the same text has the same vector, texts that share words have similar ones."""

from __future__ import annotations

import base64
import hashlib
import math
import random
import struct
from collections.abc import Mapping
from typing import Any

from mlebench.testing.conversation import Message, Reply, Request, Use

DIMENSIONS = 256


def read(body: Mapping[str, Any]) -> Request:
    """The request in no dialect: one message for each text."""
    messages = tuple(Message("user", text) for text in _texts(body.get("input")))
    return Request("openai-embeddings", body.get("model", ""), messages=messages, body=body)


def _texts(given: Any) -> list[str]:
    if not isinstance(given, list) or (given and isinstance(given[0], int)):
        given = [given]
    return [each if isinstance(each, str) else " ".join(map(str, each or [])) for each in given]


def write(request: Request, reply: Reply, use: Use) -> dict[str, Any]:  # noqa: ARG001 - as the other dialects
    """The vectors, of length 1."""
    count = request.body.get("dimensions") or DIMENSIONS
    vectors = [embed(message.text, count) for message in request.messages]
    packed = request.body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": use.input_tokens, "total_tokens": use.input_tokens}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The sum of the words' random directions, of length 1.

    >>> embed("one two", 4) == embed("two one", 4), embed("one", 4) == embed("two", 4)
    (True, False)
    """
    total = [0.0] * dimensions
    for word in sorted(text.lower().split()) or [""]:
        draw = random.Random(hashlib.sha256(word.encode()).digest())
        total = [value + draw.gauss() for value in total]
    length = math.hypot(*total)
    return [value / length for value in total]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
