"""Validate and grade a fashion-recommendation submission of real size, beside plain Python row by row.

    python benchmarks/grade_h_and_m.py [--customers 1371980] [--scored 69000] [--repeat 3]

Makes a sample submission, a submission of twelve ids for each customer and the answers as CSV files in a
temporary folder. Each contender runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

ID = "h-and-m-personalized-fashion-recommendations"
BLOCK = 100_000
Result = TypeVar("Result")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="mlebench-benchmark-") as folder:
        _in_own_process(_make_files, Path(folder), arguments.customers, arguments.scored)
        size = _submission(Path(folder)).stat().st_size
        print(f"{arguments.customers:,} customers, {arguments.scored:,} of them scored, submission {size / 1e6:.0f} MB")
        results = {}
        for name in CONTENDERS:
            runs = [_in_own_process(_measured, name, Path(folder)) for _ in range(arguments.repeat)]
            score, seconds, megabytes = min(runs, key=lambda run: run[1])
            results[name] = (score, seconds)
            rate = arguments.customers / seconds
            print(f"{name:<24} {seconds:6.2f} s  {rate:>11,.0f} rows/s  peak {megabytes:5,.0f} MB  score {score:.5f}")
    ours, plain = results["mlebench"], results["plain Python"]
    if ours[0] != plain[0]:
        sys.exit("the scores differ")
    print(f"plain Python takes {plain[1] / ours[1]:.2f} times as long; best of {arguments.repeat}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=1_371_980)
    parser.add_argument("--scored", type=int, default=69_000)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs is shown")
    return parser.parse_args()


# --- contenders: validate and grade, return the score


def grade_with_mlebench(folder: Path) -> float:
    """What `mlebench grade` does."""
    from mlebench import catalog
    from mlebench.dataset import Dataset
    from mlebench.grading import grade

    report = grade(_submission(folder), Dataset(catalog.get(ID), folder))
    if report.score is None:
        raise ValueError(report.reason)
    return report.score


def grade_row_by_row(folder: Path) -> float:
    """The same checks and the same score in plain Python."""
    with _sample(folder).open(newline="") as file:
        known = {row["customer_id"] for row in csv.DictReader(file)}
    predictions: dict[str, list[str]] = {}
    with _submission(folder).open(newline="") as file:
        for row in csv.DictReader(file):
            customer, entries = row["customer_id"], row["prediction"].split(" ")
            if customer not in known or customer in predictions:
                raise ValueError(f"customer {customer} is unknown or repeated")
            if not all(entry.isdigit() and len(entry) <= 10 for entry in entries):
                raise ValueError(f"customer {customer} has something else than article ids")
            predictions[customer] = entries
    total, count = 0.0, 0
    with _answers(folder).open(newline="") as file:
        for row in csv.DictReader(file):
            total += _average_precision(set(row["prediction"].split(" ")), predictions[row["customer_id"]])
            count += 1
    return round(total / count, 5)


def _average_precision(truth: set[str], entries: list[str]) -> float:
    total, hits, seen = 0.0, 0, set()
    for rank, entry in enumerate(entries[:12], start=1):
        if entry in truth and entry not in seen:
            hits += 1
            total += hits / rank
        seen.add(entry)
    return total / min(len(truth), 12)


CONTENDERS = {"plain Python": grade_row_by_row, "mlebench": grade_with_mlebench}


def _in_own_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Call `function` in a fresh process. A process inherits the peak of its parent, so the parent does nothing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def _measured(name: str, folder: Path) -> tuple[float, float, float]:
    """Score, seconds (imports are not counted) and peak memory in MB."""
    if name == "mlebench":
        import mlebench.grading  # noqa: F401

    start = time.perf_counter()
    score = CONTENDERS[name](folder)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return score, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


# --- files


def _make_files(folder: Path, customers: int, scored: int) -> None:
    """Real CSV files; a tenth of the entries of the scored customers' predictions are right."""
    rng = np.random.default_rng(0)
    for path in (_sample(folder), _answers(folder)):
        path.parent.mkdir(parents=True, exist_ok=True)
    names = [str(article) for article in np.unique(rng.integers(108_775_015, 959_461_002, 105_542)).tolist()]
    default = " ".join(f"0{name}" for name in names[:12])
    is_scored = np.zeros(customers, dtype=bool)
    is_scored[rng.permutation(customers)[:scored]] = True
    with (
        _sample(folder).open("w") as sample,
        _submission(folder).open("w") as submission,
        _answers(folder).open("w") as answers,
    ):
        for file in (sample, submission, answers):
            file.write("customer_id,prediction\n")
        for start in range(0, customers, BLOCK):
            ids = _ids(rng, min(BLOCK, customers - start))
            choice = rng.integers(0, len(names), (len(ids), 12)).tolist()
            entries = [[names[place] for place in row] for row in choice]
            sample.writelines(f"{customer},{default}\n" for customer in ids)
            submission.writelines(f"{customer},{' '.join(row)}\n" for customer, row in zip(ids, entries, strict=True))
            for place in np.flatnonzero(is_scored[start : start + len(ids)]).tolist():
                truth = [entries[place][rng.integers(12)], names[rng.integers(len(names))]]
                answers.write(f"{ids[place]},{' '.join(truth[rng.integers(2) :])}\n")
    (folder / ID / "prepared" / "manifest.json").write_text(json.dumps({"source": "synthetic", "files": {}}))


def _ids(rng: np.random.Generator, count: int) -> list[str]:
    """Random customer ids: 64 hexadecimal digits."""
    joined = rng.bytes(32 * count).hex()
    return [joined[place : place + 64] for place in range(0, len(joined), 64)]


def _sample(folder: Path) -> Path:
    return folder / ID / "prepared" / "public" / "sample_submission.csv"


def _answers(folder: Path) -> Path:
    return folder / ID / "prepared" / "private" / "answers.csv"


def _submission(folder: Path) -> Path:
    return folder / "submission.csv"


if __name__ == "__main__":
    main()
