"""How fast run-length masks are validated and graded, beside a plain loop over masks.

    python benchmarks/grade_tgs_salt.py [--masks 18000] [--runs 60]

Makes truth and predictions of 101 x 101 pixels as CSV files, validates and grades them as `mlebench grade-sample`
does, then grades them once more with one Python loop a mask. Each part, and the making of the data, runs in a
process of its own: peak memory counts from what its parent has at the start.
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
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.files import write_json
from mlebench.grading import score_submission, validate_submission
from mlebench.metrics.segmentation import encode_run_lengths
from mlebench.tables import write_csv

SIDE = 101
THRESHOLDS = np.arange(0.5, 1.0, 0.05)
BLOCK = 500  # masks that are made at a time


def make_data(dataset: Dataset, submission: Path, masks: int, runs: int) -> None:
    """Answers, sample submission and a prediction that resembles the answers; 4 masks of 10 are empty."""
    rng = np.random.default_rng(0)
    true, predicted = [], []
    for begin in range(0, masks, BLOCK):
        painted = _blobs(rng, min(BLOCK, masks - begin), runs)
        noise = rng.random(painted.shape) < 0.1 * rng.random((len(painted), 1, 1))
        true += encode_run_lengths(painted)
        predicted += encode_run_lengths(painted ^ noise & painted.any(axis=(1, 2), keepdims=True))
    ids = pd.DataFrame({"id": [f"{place:010x}" for place in range(masks)]})
    write_csv(ids.assign(rle_mask=true), dataset.private / "test.csv")
    write_csv(ids.assign(rle_mask="1 1"), dataset.public / "sample_submission.csv")
    write_csv(ids.assign(rle_mask=predicted).sample(frac=1, random_state=0), submission)
    write_json(dataset.manifest_path, {"source": "synthetic"})


def _blobs(rng: np.random.Generator, count: int, runs: int) -> np.ndarray:
    """Discs, each of about `runs` runs (one a column)."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    at = rng.integers(30, 70, (2, count, 1, 1))
    discs = (rows - at[0]) ** 2 + (columns - at[1]) ** 2 < (runs / 2) ** 2
    return discs & (rng.random((count, 1, 1)) > 0.4)


def grade_with_mlebench(dataset: Dataset, submission: Path) -> dict[str, float]:
    """Seconds of validation, and of validation and grading together."""
    begin = time.perf_counter()
    assert validate_submission(submission, dataset).valid
    validated = time.perf_counter()
    score = score_submission(submission, dataset)
    return {"validate": validated - begin, "grade": time.perf_counter() - validated, "score": score}


def grade_with_a_loop(dataset: Dataset, submission: Path) -> dict[str, float]:
    """The same by the definition, mask by mask and run by run; validity is taken for granted."""
    begin = time.perf_counter()
    true, predicted = _read(dataset.private / "test.csv"), _read(submission)
    values = [_precision(_paint(true[name]), _paint(predicted[name])) for name in sorted(true)]
    return {"grade": time.perf_counter() - begin, "score": round(float(np.mean(values)), 5)}


def _read(path: Path) -> dict[str, str]:
    with path.open(newline="") as file:
        return {row["id"]: row["rle_mask"] for row in csv.DictReader(file)}


def _paint(code: str) -> np.ndarray:
    mask = np.zeros(SIDE * SIDE, dtype=bool)
    numbers = [int(word) for word in code.split()]
    for start, length in zip(numbers[0::2], numbers[1::2], strict=True):
        mask[start - 1 : start - 1 + length] = True
    return mask


def _precision(true: np.ndarray, predicted: np.ndarray) -> float:
    if not true.any():
        return float(not predicted.any())
    if not predicted.any():
        predicted = np.ones_like(true)
    iou = np.count_nonzero(true & predicted) / np.count_nonzero(true | predicted)
    return float((iou > THRESHOLDS).mean())


def measure(part: str, dataset: Dataset, submission: Path, result: Path) -> None:
    """Run one part and write its times and peak memory, before and after, to `result`."""
    before = _peak_mb()
    found = globals()[part](dataset, submission)
    result.write_text(json.dumps({**found, "peak_mb": _peak_mb(), "peak_before_mb": before}))


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--masks", type=int, default=18_000)
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="mlebench-benchmark-") as name:
        folder = Path(name)
        dataset = Dataset(catalog.get("tgs-salt-identification-challenge"), folder)
        submission = folder / "submission.csv"
        _run(processes.Process(target=make_data, args=(dataset, submission, options.masks, options.runs)))
        found = {}
        for part in ("grade_with_mlebench", "grade_with_a_loop"):
            _run(processes.Process(target=measure, args=(part, dataset, submission, folder / part)))
            found[part] = json.loads((folder / part).read_text())
        _show(options.masks, submission.stat().st_size, found["grade_with_mlebench"], found["grade_with_a_loop"])


def _run(process: BaseProcess) -> None:
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"a part failed with exit code {process.exitcode}")


def _show(masks: int, size: int, ours: dict[str, float], loop: dict[str, float]) -> None:
    assert ours["score"] == loop["score"], f"the scores differ: {ours['score']} and {loop['score']}"
    print(f"{masks:,} masks, {size / 1e6:.1f} MB, score {ours['score']}")
    rows = [
        ("validate", ours["validate"], ours),
        ("validate and grade", ours["grade"], ours),
        ("loop", loop["grade"], loop),
    ]
    for title, seconds, part in rows:
        memory = f"peak {part['peak_mb']:.0f} MB ({part['peak_before_mb']:.0f} MB before)"
        print(f"{title:<20}{seconds:7.2f} s {masks / seconds:11,.0f} masks/s   {memory}")
    print(f"the loop, which validates nothing, takes {loop['grade'] / ours['grade']:.1f} times as long")


if __name__ == "__main__":
    main()
