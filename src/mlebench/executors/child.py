"""What a child of the local executor runs: read one call from standard input, print its result as JSON."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run the call; SIGTERM, also that of the parent's death, interrupts it like Ctrl-C."""
    signal.signal(signal.SIGTERM, _interrupt)
    _die_with_parent()
    call = json.load(sys.stdin)
    module, _, name = call["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    result = function(*call["args"], **call["kwargs"])
    print(json.dumps(result))


def _interrupt(_signal: int, _frame: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: cleaning up must not be interrupted
    raise KeyboardInterrupt


def _die_with_parent() -> None:
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)


if __name__ == "__main__":
    main()
