"""What can go wrong with a model's provider, on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["status", "disconnect", "broken-stream", "drip", "hang", "wrong-json"]
SPOILING = ("broken-stream", "drip", "wrong-json")  # these spoil an answer, the others stand for it


@dataclass(frozen=True)
class Fault:
    """One request that goes wrong. Made by the functions below."""

    kind: Kind
    status: int = 200
    message: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=())
    after: int = 0  # events that still arrive
    seconds: float = 0.0  # between two parts
    text: str = "This answer is spoilt on purpose, as the script of this server says."  # where no engineer is asked

    @classmethod
    def rate_limit(cls, retry_after: float | None = 1) -> Fault:
        """429, with the header Retry-After unless that is None."""
        headers = () if retry_after is None else (("retry-after", f"{retry_after:g}"),)
        return cls("status", 429, "Rate limit reached for requests", headers)

    @classmethod
    def error(cls, status: int = 500, message: str = "The server had an error while processing your request") -> Fault:
        """Any error status in the form of the dialect: 400, 401, 403, 404, 500, 503, 529 ..."""
        return cls("status", status, message)

    @classmethod
    def overloaded(cls) -> Fault:
        """529, as Anthropic says that it is overloaded."""
        return cls("status", 529, "Overloaded")

    @classmethod
    def unauthorized(cls) -> Fault:
        """401: the key is wrong."""
        return cls("status", 401, "Incorrect API key provided")

    @classmethod
    def disconnect(cls) -> Fault:
        """The connection is dropped instead of an answer."""
        return cls("disconnect")

    @classmethod
    def broken_stream(cls, after: int = 2) -> Fault:
        """The connection is dropped after so many events; of an answer that is no stream half arrives."""
        return cls("broken-stream", after=after)

    @classmethod
    def drip(cls, seconds: float = 0.1) -> Fault:
        """The answer arrives whole, but with a pause before each event; one that is no stream, in ten parts."""
        return cls("drip", seconds=seconds)

    @classmethod
    def hang(cls) -> Fault:
        """No answer, ever; the connection stays open until the client or the server ends."""
        return cls("hang")

    @classmethod
    def wrong_json(cls) -> Fault:
        """200, but what comes isn't JSON; in a stream, one event of several."""
        return cls("wrong-json")
