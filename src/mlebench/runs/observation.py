"""What happens beside an attempt while its agent works: telemetry, notices, snapshots, and reasons to stop it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.files import remove_tree
from mlebench.runs.instructions import duration, warning_seconds
from mlebench.runs.seal import file_sha256
from mlebench.runs.store import AttemptFolder, RunConfig
from mlebench.sandbox import Sample
from mlebench.sandbox.collect import MAX_BYTES

TELEMETRY_SECONDS = 10.0
SNAPSHOTS_SHARE = 10  # all together take at most a tenth of the disk limit
BUDGET_GRACE_SECONDS = 60.0  # for an agent to end by itself once its budget is spent

Verdict = tuple[str, str]  # a name in `mlebench.errors.ENDS`, and the reason


class Observation:
    """The observer of one attempt; see `mlebench.sandbox.Sandbox.run`."""

    def __init__(
        self,
        folder: AttemptFolder,
        config: RunConfig,
        verdict: Callable[[], Verdict | None] = lambda: None,
        model_use: Callable[[], dict[str, Any]] = dict,
        gpus: tuple[int, ...] = (),
    ) -> None:
        self._folder, self._config, self._verdict, self._gpus = folder, config, verdict, gpus
        self._model_use = model_use
        self._next_telemetry = 0.0
        self._warned = False
        self._spent_at: float | None = None
        room = MAX_BYTES if config.disk_bytes is None else config.disk_bytes // SNAPSHOTS_SHARE
        self._snapshots = Snapshots(folder.path, config.snapshot_seconds, room)

    def __call__(self, sample: Sample) -> Verdict | None:
        """Take note of what is used; return a reason to stop."""
        if sample.seconds >= self._next_telemetry:
            self._next_telemetry = sample.seconds + TELEMETRY_SECONDS
            self._record(sample)
        self._warn(sample)
        self._snapshots.take(sample.seconds)
        if self._folder.stop_path.exists():
            return "interrupted", "a person stopped this attempt"
        return self._of_the_model(sample)

    def _record(self, sample: Sample) -> None:
        entry: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "seconds": round(sample.seconds, 2),
            "cpu_seconds": round(sample.cpu_seconds, 2),
            "memory_bytes": sample.memory_bytes,
            "disk_bytes": sample.disk_bytes,
            "processes": sample.processes,
        }
        if use := self._model_use():
            entry["model"] = {name: use[name] for name in ("requests", "input_tokens", "output_tokens", "dollars")}
        if self._gpus:
            entry["gpus"] = gpu_use(self._gpus)
        with (self._folder.path / "telemetry.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _warn(self, sample: Sample) -> None:
        left = self._config.time_limit_seconds - sample.seconds
        if not self._warned and left <= warning_seconds(self._config.time_limit_seconds):
            self._warned = True
            text = f"{duration(max(1, left))} are left. What stands in submission.csv then is graded.\n"
            (self._folder.path / "notices" / "time.txt").write_text(text, encoding="utf-8")

    def _of_the_model(self, sample: Sample) -> Verdict | None:
        """A fault of the gateway stops at once; a spent budget leaves time to end by oneself."""
        verdict = self._verdict()
        if verdict is None or verdict[0] != "budget-spent":
            return verdict
        self._spent_at = sample.seconds if self._spent_at is None else self._spent_at
        return verdict if sample.seconds - self._spent_at >= BUDGET_GRACE_SECONDS else None


class Snapshots:
    """Copies of the submission every so often, made only when it has changed; all together at most `room` bytes.

    For an agent may make a large file out of nothing, and so fill the host's disk beyond its own limit.
    """

    def __init__(self, attempt: Path, every: float | None, room: int) -> None:
        self._attempt, self._every, self._next = attempt, every, every or 0.0
        self._room = room
        self._last: tuple[int, int, int] | None = None
        self._last_content = ""

    def take(self, seconds: float) -> None:
        """Copy what stands there if it is time to; `seconds` since the start."""
        if self._every is None or seconds < self._next:
            return
        due = self._next
        self._next += self._every * (1 + (seconds - self._next) // self._every)
        with suppress(OSError):
            self._copy(self._attempt / "snapshots" / f"{round(due):06d}")

    def _copy(self, into: Path) -> None:
        """The agent is alive: no link is followed, and what is no plain file is passed over."""
        path = self._attempt / "submission" / "submission.csv"
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as source:
            state = os.fstat(handle)
            identity = (state.st_ino, state.st_size, state.st_mtime_ns)
            if not stat.S_ISREG(state.st_mode) or state.st_size > self._room or identity == self._last:
                return
            into.mkdir(parents=True)
            with (into / "submission.csv").open("wb") as target:
                left = state.st_size  # and no further: the agent may go on writing
                while block := source.read(min(left, 1 << 20)):
                    target.write(block)
                    left -= len(block)
        self._last = identity
        content = file_sha256(into / "submission.csv")
        if content == self._last_content:
            remove_tree(into)
        else:
            self._room -= state.st_size
        self._last_content = content


def gpu_use(gpus: tuple[int, ...]) -> list[dict[str, int]]:
    """Percent of time in use and bytes of memory of some GPUs, as nvidia-smi tells; empty if it doesn't."""
    query = ["nvidia-smi", "--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[int(cell) for cell in line.split(",")] for line in found.splitlines() if line.strip()]
    return [
        {"index": index, "percent": percent, "memory_bytes": mebibytes << 20}
        for index, percent, mebibytes in rows
        if index in gpus
    ]


def last_telemetry(attempt: Path) -> dict[str, Any]:
    """The last whole line of telemetry.jsonl, with its age in seconds as `age`; empty if there is none."""
    try:
        with (attempt / "telemetry.jsonl").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            lines = file.read().splitlines()
        entry = next(json.loads(line) for line in reversed(lines) if line.endswith(b"}"))
        entry["age"] = time.time() - datetime.fromisoformat(entry["time"]).timestamp()
    except (OSError, ValueError, StopIteration):
        return {}
    return entry
