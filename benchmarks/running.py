"""What running attempts costs beside the agents' own time, and whether the runner's memory stays flat.

    python benchmarks/running.py [--attempts 200] [--workers 8] [--sandbox bubblewrap]

The agent is `sample`; the data are a small twin. Printed are, for each attempt, the time that a worker was busy with
it beside the agent's own seconds (from the first process of the sandbox to its last), and the memory of the runner's
processes in the first and the last quarter of the run. Attempts at once share the processors, so the same is also
told for one worker, where none waits for another.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import attempts, read_config

COMPETITION = "spaceship-titanic"
AIM = 0.5  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=200)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--sandbox", default="bubblewrap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mlebench-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        prepare(Dataset(catalog.get(COMPETITION), folder / "data"), Synthetic(rows=100))
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, sandbox {options.sandbox}, agent sample")
        measure(folder, max(5, options.attempts // 10), 1, options.sandbox)
        measure(folder, options.attempts, options.workers, options.sandbox)


def measure(folder: Path, number: int, workers: int, sandbox: str) -> None:
    """Run attempts and print what they cost."""
    run, _ = plan_run(
        agent="sample",
        competitions=[catalog.get(COMPETITION)],
        data_dir=folder / "data",
        runs_dir=folder / "runs",
        seeds=number,
        time_limit_seconds=300,
        sandbox=sandbox,
        workers=workers,
        name=f"workers-{workers}",
    )
    memory = Memory()
    started = time.monotonic()
    with memory:
        done = execute(run, lambda _: None)
    wall = time.monotonic() - started
    states = [attempt.state() for attempt in attempts(run, read_config(run))]
    ends = {state.end for state in states}
    if not done or ends != {"completed"}:
        sys.exit(f"attempts ended as {ends}")
    agent = sum(state.seconds or 0 for state in states)
    overhead = (wall * workers - agent) / number
    first, last = memory.quarters()
    print(
        f"{number} attempts, {workers} at once: {wall:.1f} s, {number / wall:.2f} a second; a worker was busy "
        f"{wall * workers / number:.2f} s with each, of which the agent {agent / number:.2f} s: "
        f"overhead {overhead:.2f} s, {overhead / AIM:.2f} of the {AIM} s aimed at"
    )
    print(f"   memory of the runner and its server: {first:.0f} MB at first, {last:.0f} MB at last, {last / first:.2f}")


class Memory:
    """Samples the memory of this process and of the process that forks attempts."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        own = psutil.Process()
        while not self._over.wait(0.5):
            family = [own, *own.children()]
            self._samples.append(sum(process.memory_info().rss for process in family) / 1e6)

    def quarters(self) -> tuple[float, float]:
        """Medians of the first and the last quarter of the samples, in megabytes."""
        length = max(1, len(self._samples) // 4)
        return statistics.median(self._samples[:length]), statistics.median(self._samples[-length:])


if __name__ == "__main__":
    main()
