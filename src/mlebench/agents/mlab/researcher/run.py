"""From the environment's variables to an exit code."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from .bench import Bench
from .loop import work
from .model import DIALECTS, AccessDenied, ModelError, Models
from .places import Places, furnish
from .prompts import PROBLEM_FILE
from .records import Records
from .scripts import adopt_orphans
from .settings import Clock, Settings

FAILED, MISUSED, DENIED, STOPPED = 1, 2, 3, 143


def main() -> int:
    """Work on the task that the environment describes.

    0 when the work, the steps or the time are over; 1 if the model fails, 2 if a parameter makes no sense, 3 if the
    model refuses access, as when a budget is spent; 143 if stopped by SIGTERM.
    """
    settings = Settings.read()
    if settings.dialect not in DIALECTS:
        print(f"there is no dialect {settings.dialect!r}; there are {', '.join(DIALECTS)}", file=sys.stderr, flush=True)
        return MISUSED
    clock = Clock(settings.seconds)
    signal.signal(signal.SIGTERM, _stop)
    adopt_orphans()
    places = Places(settings.work, settings.data, settings.submission)
    furnish(places)
    if not settings.problem_in_prompt:
        (settings.work / PROBLEM_FILE).write_text(settings.problem, encoding="utf-8")
    bench = Bench(settings, places, Models(settings.dialect, settings.temperature, clock), clock)
    try:
        work(bench, Records(settings.logs, settings.keep_workspaces))
    except AccessDenied as error:
        print(error, file=sys.stderr, flush=True)
        return DENIED
    except ModelError as error:
        print(error, file=sys.stderr, flush=True)
        return FAILED
    return 0


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    raise SystemExit(STOPPED)
