"""How long grading takes at real size: each competition in a process of its own.

    python benchmarks/grading.py [--only ID]... [--json]

For each competition files of real size are made (see real_size.py) and the submission is validated, the answers are
read and the score is computed, as `mlebench grade-sample` does; imports are not counted. Seconds are of the wall clock
and of the processor; memory is the peak of the process. Then the ten slowest are told with where their time goes, and
some are compared with plain Python, row by row (see row_by_row.py). Ends with an error if one takes over 20 s of the
processor or 4 GB.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import pstats
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from mlebench import catalog
from mlebench.dataset import Dataset
from row_by_row import PLAIN

MOST_SECONDS, MOST_MB = 20, 4_000
STAGES = ("validate", "read", "score")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Measured:
    """What grading one submission took; `seconds` and `cpu` by stage, `shares` of the whole time by what is done."""

    competition: str
    rows: int
    megabytes: float  # of the submission
    score: float
    seconds: dict[str, float]
    cpu: dict[str, float]
    peak_mb: float
    shares: dict[str, float]
    plain_cpu: float | None = None

    @property
    def total(self) -> float:
        """Seconds of the processor, which other programs on the machine change little."""
        return sum(self.cpu.values())


def main() -> None:
    options = _options()
    chosen = options.only or [competition.id for competition in catalog.competitions().values()]
    found = []
    for number, competition_id in enumerate(chosen):
        found.append(_measure(competition_id))
        if not options.json:
            if number == 0:
                _show_header()
            _show(found[-1])
    if options.json:
        print(json.dumps([asdict(measured) for measured in found], indent=2))
    else:
        _show_slowest(sorted(found, key=lambda measured: -measured.total)[:10])
        _show_plain([measured for measured in found if measured.plain_cpu is not None])
    if slow := [m.competition for m in found if m.total > MOST_SECONDS or m.peak_mb > MOST_MB]:
        sys.exit(f"over {MOST_SECONDS} s of the processor or {MOST_MB:,} MB: {', '.join(slow)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="ID", action="append", help="only this competition; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def _measure(competition_id: str) -> Measured:
    with tempfile.TemporaryDirectory(prefix="mlebench-benchmark-") as name:
        folder = Path(name)
        _in_own_process(_make_files, competition_id, folder)
        facts = _in_own_process(_graded, competition_id, folder)
        shares = _in_own_process(_profiled, competition_id, folder)
        plain_cpu = None
        if competition_id in PLAIN:
            score, plain_cpu = _in_own_process(_graded_plainly, competition_id, folder)
            if score != facts["score"]:
                sys.exit(f"{competition_id}: the scores differ: {facts['score']}, row by row {score}")
        return Measured(competition=competition_id, shares=shares, plain_cpu=plain_cpu, **facts)


def _in_own_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Call `function` in a fresh process. A process inherits the peak of its parent, so the parent does nothing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


# --- in processes of their own


def _place(competition_id: str, folder: Path) -> tuple[Dataset, Path]:
    return Dataset(catalog.get(competition_id), folder), folder / "submission.csv"


def _make_files(competition_id: str, folder: Path) -> None:
    from real_size import make

    make(*_place(competition_id, folder))


def _graded(competition_id: str, folder: Path) -> dict[str, Any]:
    """Rows, size, score, seconds and memory."""
    from mlebench.grading import validate_submission

    dataset, path = _place(competition_id, folder)
    competition = dataset.competition
    marks = [_clocks()]
    validation = validate_submission(path, dataset)
    marks.append(_clocks())
    if validation.table is None:
        raise ValueError(f"{competition_id}: {validation.message()}")
    answers = competition.read_answers(dataset.private)
    marks.append(_clocks())
    score = competition.score(validation.table, answers)
    marks.append(_clocks())
    spans = list(zip(STAGES, marks[:-1], marks[1:], strict=True))
    return {
        "rows": len(validation.table),
        "megabytes": path.stat().st_size / 1e6,
        "score": round(score, 5),
        "seconds": {stage: end[0] - begin[0] for stage, begin, end in spans},
        "cpu": {stage: end[1] - begin[1] for stage, begin, end in spans},
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6,
    }


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _profiled(competition_id: str, folder: Path) -> dict[str, float]:
    """The shares of the whole time, under a profiler: what is written in Python counts somewhat too much."""
    from mlebench.grading import score_valid, validate_submission

    dataset, path = _place(competition_id, folder)
    profile = cProfile.Profile()
    profile.enable()
    validation = validate_submission(path, dataset)
    assert validation.table is not None
    score_valid(validation.table, dataset)
    profile.disable()
    stats = pstats.Stats(profile)
    spent = {part: _spent(stats, functions) for part, functions in PARTS.items()}
    spent["metric"] = max(0.0, _spent(stats, [("competition.py", "score")]) - spent["pairing"])
    whole = _spent(stats, [("submission.py", "validate"), ("grading.py", "score_valid")])
    return {part: seconds / whole for part, seconds in spent.items()}


PARTS = {
    "reading CSV": [("readers.py", "read_csv"), ("readers.py", "__next__"), ("file_guard.py", "find_fault")],
    "ids": [("submission.py", "_id_problems")],
    "cells": [("submission.py", "_cell_problems"), ("score.py", "check_submission")],
    "pairing": [("competition.py", "pair")],
}


def _spent(stats: pstats.Stats, functions: list[tuple[str, str]]) -> float:
    """Seconds in functions, given as file and name, and in all that they call; none of them calls another."""
    entries = stats.stats.items()  # type: ignore[attr-defined]
    return sum(
        cumulative for (file, _, name), (_, _, _, cumulative, _) in entries if (Path(file).name, name) in functions
    )


def _graded_plainly(competition_id: str, folder: Path) -> tuple[float, float]:
    """Score and seconds (of the processor) of plain Python."""
    dataset, path = _place(competition_id, folder)
    start = time.process_time()
    score = PLAIN[competition_id](dataset.private / dataset.competition.answers_file, path)
    return round(score, 5), time.process_time() - start


# --- tables


def _show_header() -> None:
    print("seconds: wall clock (processor)")
    stages = "".join(f"{stage:>16}" for stage in (*STAGES, "all"))
    print(f"{'competition':<60}{'rows':>11}{'MB':>8}{stages}{'peak MB':>10}")


def _show(measured: Measured) -> None:
    pairs = [(measured.seconds[stage], measured.cpu[stage]) for stage in STAGES]
    pairs.append((sum(measured.seconds.values()), measured.total))
    times = "".join(f"{f'{wall:.2f} ({cpu:.2f})':>16}" for wall, cpu in pairs)
    print(
        f"{measured.competition:<60}{measured.rows:>11,}{measured.megabytes:>8.1f}{times}{measured.peak_mb:>10,.0f}",
        flush=True,
    )


def _show_slowest(slowest: list[Measured]) -> None:
    parts = (*PARTS, "metric")
    print(f"\n{'the slowest':<60}{'processor s':>11}{''.join(f'{part:>13}' for part in parts)}")
    for measured in slowest:
        shares = "".join(f"{measured.shares[part]:>13.0%}" for part in parts)
        print(f"{measured.competition:<60}{measured.total:>11.2f}{shares}")


def _show_plain(compared: list[Measured]) -> None:
    if compared:
        print("\nplain Python, row by row, which reads and scores but validates nothing (processor):")
    for measured in compared:
        seconds = measured.plain_cpu or 0.0
        print(f"{measured.competition:<60}{seconds:>9.2f} s, {seconds / measured.total:.1f} times as long")


if __name__ == "__main__":
    main()
