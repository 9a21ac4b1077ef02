"""A language model for tests: a server that speaks the true dialects, and engineers that answer by a plan.

    with serve([Reply("Hello."), Fault.rate_limit(), "Hello again."]) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any")

See docs/testing.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlebench.testing.conversation import Engineer, Message, Reply, Request, Tool, ToolCall, Use
    from mlebench.testing.engineers import (
        Check,
        Done,
        Execute,
        Look,
        Plan,
        Planned,
        Run,
        Write,
        engineers_by_name,
        script,
    )
    from mlebench.testing.faults import Fault
    from mlebench.testing.server import Recorded, ScriptedApp, Server, serve

__all__ = [
    "Check",
    "Done",
    "Engineer",
    "Execute",
    "Fault",
    "Look",
    "Message",
    "Plan",
    "Planned",
    "Recorded",
    "Reply",
    "Request",
    "Run",
    "ScriptedApp",
    "Server",
    "Tool",
    "ToolCall",
    "Use",
    "Write",
    "engineers_by_name",
    "script",
    "serve",
]

_MODULES = {
    "conversation": ("Engineer", "Message", "Reply", "Request", "Tool", "ToolCall", "Use"),
    "engineers": ("Check", "Done", "Execute", "Look", "Plan", "Planned", "Run", "Write", "engineers_by_name", "script"),
    "faults": ("Fault",),
    "server": ("Recorded", "ScriptedApp", "Server", "serve"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
