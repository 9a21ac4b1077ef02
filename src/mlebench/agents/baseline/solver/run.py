"""From the public files to a valid submission: a fallback first, then the most specific strategy that applies."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from . import (
    boxes,
    candidates,
    constant,
    denoising,
    forecast,
    graded,
    imputation,
    masks,
    ordering,
    pairs,
    points,
    recommendation,
    rewriting,
    rowed_arrays,
    rows,
    scenes,
    sequences,
    spans,
    tracks,
    wide,
)
from .clock import Clock, last_second, working_seconds
from .desk import Desk
from .task import Task


class Strategy(NamedTuple):
    """One way to solve a kind of competition.

    `run` gives predictions, better and better ones; each in one or more forms, the preferred one first.
    """

    name: str
    applies: Callable[[Task], bool]
    run: Callable[[Task], Iterable[list[pd.DataFrame]]]


def once(run: Callable[[Task], list[pd.DataFrame]]) -> Callable[[Task], Iterable[list[pd.DataFrame]]]:
    """A strategy's `run` that gives one prediction only."""
    return lambda task: [run(task)]


STRATEGIES = (
    Strategy("pairs", pairs.applies, once(pairs.run)),
    Strategy("sequences", sequences.applies, once(sequences.run)),
    Strategy("masks", masks.applies, once(masks.run)),
    Strategy("scenes", scenes.applies, once(scenes.run)),
    Strategy("denoising", denoising.applies, once(denoising.run)),
    Strategy("boxes", boxes.applies, once(boxes.run)),
    Strategy("ordering", ordering.applies, once(ordering.run)),
    Strategy("recommendation", recommendation.applies, once(recommendation.run)),
    Strategy("spans", spans.applies, once(spans.run)),
    Strategy("points", points.applies, once(points.run)),
    Strategy("candidates", candidates.applies, once(candidates.run)),
    Strategy("graded", graded.applies, graded.run),
    Strategy("arrays", rowed_arrays.applies, rowed_arrays.run),
    Strategy("imputation", imputation.applies, once(imputation.run)),
    Strategy("forecast", forecast.applies, once(forecast.run)),
    Strategy("tracks", tracks.applies, once(tracks.run)),
    Strategy("rewriting", rewriting.applies, once(rewriting.run)),
    Strategy("wide", wide.applies, wide.run),
    Strategy("rows", rows.applies, rows.run),
    Strategy("constant", constant.applies, once(constant.run)),
)


def main() -> None:
    """Work on the competition that the environment variables describe; exit code 1 without a sample submission."""
    warnings.filterwarnings("ignore")
    limit = float(os.environ.get("TIME_LIMIT_SECS", "3600"))
    cap = 60 * float(os.environ.get("AGENT_MAX_MINUTES", "8"))
    clock = Clock(working_seconds(limit, cap))
    scratch = Path(os.environ.get("CODE_DIR", "."))
    try:
        task = Task(Path(os.environ["DATA_DIR"]), clock, int(os.environ.get("SEED", "0")), scratch)
    except LookupError as error:
        sys.exit(f"nothing to hand in: {error}")
    target = Path(os.environ["SUBMISSION_DIR"]) / "submission.csv"
    desk = Desk(target, scratch, task.sample, os.environ.get("VALIDATION_URL"))
    desk.hand_in_sample()
    end_after(last_second(limit, clock.seconds) - clock.used())
    solve(task, desk)
    print(f"done after {clock.used():.1f} s", flush=True)


def solve(task: Task, desk: Desk) -> str | None:
    """Try the strategies in order until a submission of one is taken; its name, None if the sample stays."""
    for strategy in STRATEGIES:
        taken = False
        try:
            if not strategy.applies(task):
                continue
            print(f"{strategy.name}:", flush=True)
            for forms in strategy.run(task):
                taken = any(desk.hand_in(predictions) for predictions in forms) or taken
        except Exception:  # whatever goes wrong, what was handed in, the next strategy or the sample stands
            traceback.print_exc()
        if taken:
            print(f"handed in the submission of {strategy.name}", flush=True)
            return strategy.name
    return None


def end_after(seconds: float) -> None:
    """End this process when the time is over, even if a model is still at work; what was handed in stands."""

    def end() -> None:
        print(f"stopped after {seconds:.1f} s", flush=True)
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
