"""The model gateway: the only way from a sandbox to a language model. It counts, limits, records and replays.

config = plan_gateway(["openai/gpt-4o-2024-08-06"], max_dollars=5)       # before a run: pinned in run.json
gateway = Gateway(config, folder / "gateway.jsonl", token)               # when an attempt starts
with serve(gateway.app, socket): ...                                     # the agent's way out
gateway.use, gateway.verdict                                             # from any thread, at any time
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlebench.services.gateway.app import Gateway
    from mlebench.services.gateway.budget import ModelUse
    from mlebench.services.gateway.config import GatewayConfig, plan_gateway
    from mlebench.services.gateway.recording import read_recording

__all__ = ["Gateway", "GatewayConfig", "ModelUse", "plan_gateway", "read_recording"]

_HOMES = {
    "Gateway": "app",
    "ModelUse": "budget",
    "GatewayConfig": "config",
    "plan_gateway": "config",
    "read_recording": "recording",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:  # httpx and starlette are loaded by the one who serves, not by the one who plans
        return getattr(importlib.import_module(f"mlebench.services.gateway.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
