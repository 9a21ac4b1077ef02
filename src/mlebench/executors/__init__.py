"""What spreads attempts over machines: back-ends with the protocol of `concurrent.futures.Executor`.

`--executor` takes a name from the table or a dotted path `module:Class`. What is submitted is a function of a
module with plain arguments, because it may run in another process or on another machine; its result is the
attempt's folder, the future only says that it is there.
"""

from __future__ import annotations

import importlib
from concurrent.futures import Executor

from mlebench.errors import UsageError

EXECUTORS = {"local": "mlebench.executors.local:LocalExecutor"}


def find_executor(name: str, workers: int) -> Executor:
    """The executor with this name, or at this dotted path, for `workers` attempts at once."""
    module, separator, attribute = EXECUTORS.get(name, name).partition(":")
    if not separator:
        raise UsageError(f'no executor "{name}"; there are {", ".join(EXECUTORS)}')
    return getattr(importlib.import_module(module), attribute)(workers)
