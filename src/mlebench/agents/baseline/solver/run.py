"""From the public files to a valid submission: a fallback first, then the most specific strategy that applies."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from . import boxes, constant, masks, ordering, pairs, recommendation, rows, sequences, spans
from .clock import Clock, working_seconds
from .desk import Desk
from .task import Task


class Strategy(NamedTuple):
    """One way to solve a kind of competition; `run` gives predictions, the preferred form first."""

    name: str
    applies: Callable[[Task], bool]
    run: Callable[[Task], list[pd.DataFrame]]


STRATEGIES = (
    Strategy("pairs", pairs.applies, pairs.run),
    Strategy("sequences", sequences.applies, sequences.run),
    Strategy("masks", masks.applies, masks.run),
    Strategy("boxes", boxes.applies, boxes.run),
    Strategy("ordering", ordering.applies, ordering.run),
    Strategy("recommendation", recommendation.applies, recommendation.run),
    Strategy("spans", spans.applies, spans.run),
    Strategy("rows", rows.applies, rows.run),
    Strategy("constant", constant.applies, constant.run),
)


def main() -> None:
    """Work on the competition that the environment variables describe; exit code 1 without a sample submission."""
    warnings.filterwarnings("ignore")
    limit = float(os.environ.get("TIME_LIMIT_SECS", "3600"))
    cap = 60 * float(os.environ.get("AGENT_MAX_MINUTES", "8"))
    clock = Clock(working_seconds(limit, cap))
    try:
        task = Task(Path(os.environ["DATA_DIR"]), clock, int(os.environ.get("SEED", "0")))
    except LookupError as error:
        sys.exit(f"nothing to hand in: {error}")
    target = Path(os.environ["SUBMISSION_DIR"]) / "submission.csv"
    scratch = Path(os.environ.get("CODE_DIR", "."))
    desk = Desk(target, scratch, task.sample, task.ids, os.environ.get("VALIDATION_URL"))
    desk.hand_in_sample()
    solve(task, desk)
    print(f"done after {clock.used():.1f} s", flush=True)


def solve(task: Task, desk: Desk) -> str | None:
    """Try the strategies in order until a submission of one is taken; its name, None if the sample stays."""
    for strategy in STRATEGIES:
        try:
            if not strategy.applies(task):
                continue
            print(f"{strategy.name}:", flush=True)
            if any(desk.hand_in(predictions) for predictions in strategy.run(task)):
                print(f"handed in the submission of {strategy.name}", flush=True)
                return strategy.name
        except Exception:  # whatever goes wrong, the next strategy or the fallback stands
            traceback.print_exc()
    return None
