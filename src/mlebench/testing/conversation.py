"""What is said between an agent and a model, whatever dialect carries it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlebench.testing.faults import Fault


@dataclass(frozen=True)
class ToolCall:
    """The model's wish to call a tool. `arguments` that are a string are sent as they are, JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @classmethod
    def malformed(cls, name: str) -> ToolCall:
        """A call whose arguments end in the middle, as models write them when they run out of tokens."""
        return cls(name, '{"command": "ls')

    @property
    def json(self) -> str:
        """The arguments as they travel."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))

    @property
    def parsed(self) -> dict[str, Any] | None:
        """The arguments as an object; None if they are none."""
        if not isinstance(self.arguments, str):
            return dict(self.arguments)
        try:
            found = json.loads(self.arguments)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Message:
    """One turn: role is "user", "assistant" or "tool"; a tool's text is what it answered to the call `answers`."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers. `kind` is "function", or what the provider would execute itself."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "function"


@dataclass(frozen=True)
class Request:
    """What an agent asks, in no dialect. `number` counts the requests for this model, from 1."""

    dialect: str
    model: str
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    forced_tool: str | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    max_tokens: int | None = None
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    number: int = 1

    @property
    def text(self) -> str:
        """All that was said, the system's words first."""
        return "\n\n".join([self.system, *(message.text for message in self.messages)]).strip()

    @property
    def last(self) -> str:
        """What was said last: the newest message or tool output."""
        return self.messages[-1].text if self.messages else self.system

    @property
    def turns(self) -> int:
        """How often the model has spoken in this conversation."""
        roles = [message.role for message in self.messages]
        starts = zip(roles, [None, *roles], strict=False)
        return sum(role == "assistant" and before != "assistant" for role, before in starts)

    def tool(self, *names: str) -> Tool | None:
        """The first offered tool that has one of these names."""
        offered = {tool.name: tool for tool in self.tools}
        return next((offered[name] for name in names if name in offered), None)


@dataclass(frozen=True)
class Reply:
    """What the model answers. `finish` is "stop", "tools" or "length"; empty: what follows from the calls."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: str = ""
    stopped_by: str | None = None  # the stop sequence that ended the text
    delay: float = 0.0  # seconds before the answer begins

    @classmethod
    def call(cls, name: str, arguments: Mapping[str, Any] | str | None = None, text: str = "") -> Reply:
        """A reply that calls one tool."""
        return cls(text, (ToolCall(name, arguments or {}),))

    @classmethod
    def huge(cls, size: int = 1_000_000) -> Reply:
        """A reply of at least `size` characters."""
        return cls("and so on " * (size // 10 + 1))

    @property
    def ending(self) -> str:
        """Why it ends: "stop", "tools" or "length"."""
        return self.finish or ("tools" if self.calls else "stop")


Engineer = Callable[[Request], "Reply | Fault | str"]


@dataclass
class Use:
    """Tokens that the server told its clients, by the usual names."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0  # of the input
    output_tokens: int = 0
    reasoning_tokens: int = 0  # of the output

    def add(self, other: Use) -> None:
        """Count another's tokens too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def words(text: str) -> int:
    """The number of words: what this server takes for tokens.

    >>> words("Two words"), words("")
    (2, 0)
    """
    return len(text.split())


def use_of(request: Request, reply: Reply) -> Use:
    """The tokens of one exchange, the same whenever the same is said.

    Cached is what stood before the model's last turn: the part that a provider has seen already.
    """
    last_turn = max((n for n, message in enumerate(request.messages) if message.role == "assistant"), default=None)
    seen = () if last_turn is None else request.messages[:last_turn]
    fixed = words(request.system) + sum(words(json.dumps(dict(tool.parameters))) + 1 for tool in request.tools)
    reasoning = words(reply.reasoning)
    spoken = words(reply.text) + reasoning + sum(1 + words(call.json) for call in reply.calls)
    return Use(
        requests=1,
        input_tokens=max(1, fixed + sum(map(_spoken, request.messages))),
        cached_tokens=0 if last_turn is None else fixed + sum(map(_spoken, seen)),
        output_tokens=0 if request.dialect == "openai-embeddings" else max(1, spoken),
        reasoning_tokens=reasoning,
    )


def _spoken(message: Message) -> int:
    return words(message.text) + sum(1 + words(call.json) for call in message.calls)


def cut(reply: Reply, stop: tuple[str, ...]) -> Reply:
    """`reply`, its text ended before the first of the stop sequences.

    >>> cut(Reply("Action: look Observation: 1"), ("Observation:",)).text
    'Action: look '
    """
    found = re.search("|".join(map(re.escape, stop)), reply.text) if stop else None
    if found is None:
        return reply
    return Reply(reply.text[: found.start()], (), reply.reasoning, "stop", found.group(), reply.delay)


def pieces(text: str) -> list[str]:
    """`text` in the parts in which a stream brings it; few enough for a huge one."""
    size = max(60, len(text) // 200)
    return [text[start : start + size] for start in range(0, len(text), size)]
